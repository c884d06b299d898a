// SPDX-License-Identifier: Apache-2.0
//
// What VDN_VARIANT_AUTO prefers: one table, by device, and how its entries without a record are derived. Plain C++.
//
// Both kernels are persistent, so a call takes as many turns as there are waves of matrices: of resident clusters for
// pair, of resident CTAs for single. A wave takes the same time however full it is, within a few per cent; so
//
//     time = first wave + (waves - 1) x next wave
//
// of each variant, and pair is taken where its time is at least 3 % shorter. On an H200 (132 SMs, 66 clusters) a wave
// of pair takes about half of single's and holds half as many: pair for n <= 66, single for one full wave of its own,
// pair again where three waves of it meet two of single (n = 133 .. 198), single beyond.
//
// Only the ratios of the four times count, so that neither the clock, nor the number of SMs, nor the memory is part of
// the argument: they change the times of both variants alike, or the size of a wave, which the device says itself (66
// clusters on an H200, 74 expected on a B200 of 148 SMs, fewer on a MIG slice). That is why devices without a record
// have the numbers of the H200. Where the ratios are others, `bench --tune` measures them and prints the entry to add
// (bench/README.md).
#pragma once

#include <cstdint>

namespace vdn_delta::host {

struct AutoRule {
  int capability;       // 10 * major + minor; 0: any
  int multiprocessors;  // of the device or of its MIG slice; 0: any
  // Microseconds of the first wave when it is full, and of each further one.
  double pair_first, pair_next, single_first, single_next;
  const char* known_by;  // the record in bench/records that holds both variants' times, or "derived"
};

// The first entry that fits counts; the last one fits every device.
// clang-format off
inline constexpr AutoRule kAutoTable[] = {
    // capability  SMs  pair: first, next  single: first, next  known by
    {  90,         132, 19.3, 18.3,        35.8, 29.5,          "bench/records/2026-11-30-h200-2.json"},  // an H200
    {  0,          0,   19.3, 18.3,        35.8, 29.5,          "derived"},  // H100, B200, B300, ...: the H200's
};
// clang-format on

// Ends at the first entry for any capability: the table has one.
constexpr const AutoRule& auto_rule(int capability, int multiprocessors) {
  const AutoRule* rule = kAutoTable;
  for (; rule->capability != 0; ++rule) {
    if (rule->capability != capability) continue;
    if (rule->multiprocessors == 0 || rule->multiprocessors == multiprocessors) break;
  }
  return *rule;
}

// Whether the rule prefers pair for n matrices, where the device holds `clusters` of pair and `ctas` of single at once.
// Without room for single there is nothing to prefer it to.
constexpr bool prefers_pair(const AutoRule& rule, std::int64_t n, std::int64_t clusters, std::int64_t ctas) {
  if (n <= 0 || clusters <= 0 || ctas <= 0) return clusters > 0;
  const auto time = [n](double first, double next, std::int64_t wave) {
    return first + next * static_cast<double>((n - 1) / wave);
  };
  constexpr double kGain = 0.97;  // below that the two are as good as equal, and single is the plainer one
  return time(rule.pair_first, rule.pair_next, clusters) < kGain * time(rule.single_first, rule.single_next, ctas);
}

}  // namespace vdn_delta::host
