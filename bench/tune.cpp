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
  const int capability = capability_number(record.capability);
  if (capability == 0 || record.multiprocessors <= 0 || record.clusters <= 0) {
    throw std::runtime_error("the record does not say capability, multiprocessors and clusters of its GPU");
  }
  std::map<std::int64_t, double> pair, single;
  for (const TimingRow& row : record.timings) {
    if (row.mode != "graph") continue;
    if (row.variant == "pair") pair[row.n] = row.us_median;
    if (row.variant == "single") single[row.n] = row.us_median;
  }
  const auto time = [](const std::map<std::int64_t, double>& times, const char* variant, std::int64_t n) {
    const auto found = times.find(n);
    if (found != times.end()) return found->second;
    throw std::runtime_error("the record has no time of " + std::string(variant) + " at n = " + std::to_string(n) +
                             " in mode graph");
  };
  Tuning tuning;
  for (const auto& [n, us] : pair)
    if (single.count(n) != 0) tuning.sizes.push_back({n, us, single[n]});
  const std::int64_t clusters = record.clusters, sms = record.multiprocessors;
  host::AutoRule& rule = tuning.rule;
  rule.capability = capability;
  rule.multiprocessors = record.multiprocessors;
  rule.pair_first = time(pair, "pair", clusters);
  rule.pair_next = (time(pair, "pair", 3 * clusters) - rule.pair_first) / 2;
  rule.single_first = time(single, "single", sms);
  rule.single_next = time(single, "single", 2 * sms) - rule.single_first;
  rule.known_by = "";
  return tuning;
}

void print_tuning(const Record& record, const std::string& file) {
  const Tuning tuning = tuning_of(record);
  const host::AutoRule& rule = tuning.rule;
  std::printf(
      "\ntuning: %s, compute capability %s, %d multiprocessors, %d clusters of pair\n%7s  %10s %10s  %10s %10s  %-8s "
      "%s\n",
      record.gpu.c_str(), record.capability.c_str(), record.multiprocessors, record.clusters, "n", "pair us", "waves",
      "single us", "waves", "faster", "AUTO by the entry");
  for (const Tuning::Size& size : tuning.sizes) {
    const bool takes_pair = host::prefers_pair(rule, size.n, record.clusters, record.multiprocessors);
    const double lost = takes_pair ? size.pair_us / size.single_us : size.single_us / size.pair_us;
    std::printf("%7lld  %10.1f %10lld  %10.1f %10lld  %-8s %s", static_cast<long long>(size.n), size.pair_us,
                static_cast<long long>(waves(size.n, record.clusters)), size.single_us,
                static_cast<long long>(waves(size.n, record.multiprocessors)),
                size.is_pair_faster() ? "pair" : "single", takes_pair ? "pair" : "single");
    if (takes_pair != size.is_pair_faster()) std::printf(", which loses %.1f %%", 100 * (lost - 1));
    std::printf("\n");
  }
  std::printf(
      "the entry for kAutoTable in src/host/auto_rule.h, before the one for any GPU:\n"
      "    {  %d, %d, %.1f, %.1f, %.1f, %.1f, \"%s\"},\n",
      rule.capability, rule.multiprocessors, rule.pair_first, rule.pair_next, rule.single_first, rule.single_next,
      name_in_records(file).c_str());
}

}  // namespace vdn_delta::bench
