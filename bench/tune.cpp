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

using Times = std::map<std::int64_t, double>;  // microseconds, by n

constexpr const char* kNames[host::kAutoVariants] = {"single", "compact", "pair"};  // by AutoVariant

// Matrices of a wave, by AutoVariant.
host::Units units_of(const Record& record) {
  host::Units units;
  units.of[host::kAutoSingle] = units.of[host::kAutoCompact] = record.multiprocessors;
  units.of[host::kAutoPair] = record.clusters;
  return units;
}

std::int64_t waves(std::int64_t n, std::int64_t wave) { return (n + wave - 1) / wave; }

std::string name_in_records(const std::string& file) {
  if (file.empty()) return "bench/records/NAME-OF-THE-RECORD.json";
  return "bench/records/" + file.substr(file.rfind('/') + 1);  // npos + 1 is 0
}

}  // namespace

std::vector<std::int64_t> tune_sizes(int multiprocessors, int clusters) {
  const std::int64_t sms = multiprocessors, wave = clusters;
  std::set<std::int64_t> sizes = {1,   16,      64,       wave,         wave + 1, 2 * wave, sms / 2,
                                  sms, sms + 1, 3 * wave, 3 * wave + 1, 2 * sms,  4 * sms};
  sizes.insert((wave + sms) / 2);
  sizes.erase(sizes.begin(), sizes.lower_bound(1));
  return {sizes.begin(), sizes.end()};
}

Tuning tuning_of(const Record& record) {
  const int capability = capability_number(record.capability);
  if (capability == 0 || record.multiprocessors <= 0 || record.clusters <= 0) {
    throw std::runtime_error("the record does not say capability, multiprocessors and clusters of its GPU");
  }
  Times times[host::kAutoVariants];
  for (const TimingRow& row : record.timings)
    for (int v = 0; v < host::kAutoVariants; ++v)
      if (row.mode == "graph" && row.variant == kNames[v]) times[v][row.n] = row.us_median;
  const auto time = [&](int v, std::int64_t n) {
    const auto found = times[v].find(n);
    if (found != times[v].end()) return found->second;
    throw std::runtime_error("the record has no time of " + std::string(kNames[v]) + " at n = " + std::to_string(n) +
                             " in mode graph");
  };
  Tuning tuning;
  for (const auto& [n, us] : times[host::kAutoPair]) {
    Tuning::Size size{n, {}};
    bool is_complete = true;
    for (int v = 0; v < host::kAutoVariants; ++v) {
      is_complete = is_complete && times[v].count(n) != 0;
      size.us[v] = is_complete ? times[v][n] : 0;
    }
    if (is_complete) tuning.sizes.push_back(size);
  }
  host::AutoRule& rule = tuning.rule;
  rule.capability = capability;
  rule.multiprocessors = record.multiprocessors;
  const host::Units units = units_of(record);
  for (int v = 0; v < host::kAutoVariants; ++v) {
    // Waves behind the first. Of compact, the second one takes longer than those behind it.
    const int further = v == host::kAutoPair ? 2 : 3;
    const double first = time(v, units.of[v]);
    rule.times[v] = {first, (time(v, (1 + further) * units.of[v]) - first) / further};
  }
  rule.known_by = "";
  return tuning;
}

int Tuning::Size::fastest() const { return static_cast<int>(std::min_element(us, us + host::kAutoVariants) - us); }

void print_tuning(const Record& record, const std::string& file) {
  const Tuning tuning = tuning_of(record);
  const host::AutoRule& rule = tuning.rule;
  const host::Units units = units_of(record);
  std::printf("\ntuning: %s, compute capability %s, %d multiprocessors, %d clusters of pair\n%7s", record.gpu.c_str(),
              record.capability.c_str(), record.multiprocessors, record.clusters, "n");
  for (const char* name : kNames) std::printf("  %7s us  waves", name);
  std::printf("  %-8s %s\n", "fastest", "AUTO by the entry");
  for (const Tuning::Size& size : tuning.sizes) {
    std::printf("%7lld", static_cast<long long>(size.n));
    for (int v = 0; v < host::kAutoVariants; ++v)
      std::printf("  %10.1f  %5lld", size.us[v], static_cast<long long>(waves(size.n, units.of[v])));
    const int best = size.fastest(), taken = host::fastest(rule, size.n, units);
    std::printf("  %-8s %s", kNames[best], kNames[taken]);
    if (taken != best) std::printf(", which loses %.1f %%", 100 * (size.us[taken] / size.us[best] - 1));
    std::printf("\n");
  }
  std::printf("the entry for kAutoTable in src/host/auto_rule.h, before the one for any GPU:\n    {  %d, %d, {",
              rule.capability, rule.multiprocessors);
  for (int v = 0; v < host::kAutoVariants; ++v)
    std::printf("%s{%.1f, %.1f}", v == 0 ? "" : ", ", rule.times[v].first, rule.times[v].next);
  std::printf("}, \"%s\"},\n", name_in_records(file).c_str());
}

}  // namespace vdn_delta::bench
