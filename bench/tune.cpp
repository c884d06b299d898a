// SPDX-License-Identifier: Apache-2.0
#include "tune.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>
#include <stdexcept>

namespace vdn_delta::bench {
namespace {

// 90 for "9.0"; 0 for what is no capability.
int capability_number(const std::string& text) {
  int major = 0, minor = 0;
  return std::sscanf(text.c_str(), "%d.%d", &major, &minor) == 2 ? 10 * major + minor : 0;
}

std::int64_t waves(std::int64_t n, int wave) { return (n + wave - 1) / wave; }

std::string name_in_records(const std::string& file) {
  if (file.empty()) return "bench/records/NAME-OF-THE-RECORD.json";
  return "bench/records/" + file.substr(file.rfind('/') + 1);  // npos + 1 is 0
}

}  // namespace

std::vector<std::int64_t> tune_sizes(int multiprocessors, int clusters) {
  const std::int64_t sms = multiprocessors, wave = clusters;
  std::set<std::int64_t> sizes = {1,       16,  64,      wave,     wave + 1,     2 * wave,
                                  sms / 2, sms, sms + 1, 3 * wave, 3 * wave + 1, 2 * sms};
  sizes.insert((wave + sms) / 2);
  sizes.erase(sizes.begin(), sizes.lower_bound(1));
  return {sizes.begin(), sizes.end()};
}

Tuning tuning_of(const Record& record) {
  if (capability_number(record.capability) == 0 || record.multiprocessors <= 0 || record.clusters <= 0) {
    throw std::runtime_error("the record does not say capability, multiprocessors and clusters of its GPU");
  }
  std::map<std::int64_t, Tuning::Size> found;
  for (const TimingRow& pair : record.timings) {
    if (pair.variant != "pair" || pair.mode != "graph") continue;
    for (const TimingRow& single : record.timings) {
      if (single.variant != "single" || single.mode != "graph" || single.n != pair.n) continue;
      found[pair.n] = {pair.n, pair.us_median, single.us_median};
    }
  }
  if (found.empty()) throw std::runtime_error("the record has no size with both variants in mode graph");

  Tuning tuning;
  for (const auto& [n, size] : found) {
    tuning.sizes.push_back(size);
    if (tuning.single_from == 0) {
      (size.is_pair_faster() ? tuning.pair_to : tuning.single_from) = n;
    } else if (size.is_pair_faster()) {
      tuning.also.push_back(n);
    }
  }
  tuning.pair_waves = static_cast<int>(tuning.pair_to / record.clusters);
  return tuning;
}

void print_tuning(const Record& record, const std::string& file) {
  const Tuning tuning = tuning_of(record);
  std::printf(
      "\ntuning: %s, compute capability %s, %d multiprocessors, %d clusters of pair\n%7s  %10s %10s  %10s %10s\n",
      record.gpu.c_str(), record.capability.c_str(), record.multiprocessors, record.clusters, "n", "pair us", "waves",
      "single us", "waves");
  for (const Tuning::Size& size : tuning.sizes) {
    std::printf("%7lld  %10.1f %10lld  %10.1f %10lld  %s\n", static_cast<long long>(size.n), size.pair_us,
                static_cast<long long>(waves(size.n, record.clusters)), size.single_us,
                static_cast<long long>(waves(size.n, record.multiprocessors)),
                size.is_pair_faster() ? "pair" : "single");
  }
  if (tuning.pair_to > 0) std::printf("pair is faster up to n = %lld\n", static_cast<long long>(tuning.pair_to));
  if (tuning.single_from > 0) {
    std::printf("single takes over at n = %lld\n", static_cast<long long>(tuning.single_from));
  } else {
    std::printf("single takes over at no measured size: measure larger ones (--n)\n");
  }
  if (!tuning.also.empty()) {
    std::printf("pair is faster again, which the table does not use, at n =");
    for (const std::int64_t n : tuning.also) std::printf(" %lld", static_cast<long long>(n));
    std::printf("\n");
  }
  if (tuning.pair_to > tuning.pair_waves * std::int64_t{record.clusters}) {
    std::printf("the table counts whole waves of clusters: pair up to n = %lld\n",
                static_cast<long long>(tuning.pair_waves * std::int64_t{record.clusters}));
  }
  std::printf(
      "the entry for kAutoTable in src/host/auto_rule.h, before the ones for any number of multiprocessors:\n"
      "    {  %d, %d, %d, \"%s\"},\n",
      capability_number(record.capability), record.multiprocessors, tuning.pair_waves, name_in_records(file).c_str());
}

}  // namespace vdn_delta::bench
