// SPDX-License-Identifier: Apache-2.0
//
// What VDN_VARIANT_AUTO prefers: one table, by device, and how its entries without a record are derived. Plain C++.
//
// Both kernels are persistent, so a call takes as many turns as there are waves of matrices. Measured on an H200 (132
// SMs, 66 resident clusters of pair): a wave of pair takes about half the time of a wave of single, since two SMs work
// on each of its matrices, and holds half as many. So
//
//     n <= clusters          pair: one wave, about half the time
//     clusters < n <= SMs    two waves of pair take as long as single's one
//     beyond                 single: with full waves it does more matrices a second, as nothing crosses between SMs
//
// and pair is preferred for one wave of clusters. Neither the clock, nor the number of SMs, nor the memory is part of
// this argument: they change the times of both variants, or the size of the wave, which the device says itself (66 on
// an H200, 74 expected on a B200 of 148 SMs, fewer on a MIG slice). That is why devices without a record have the same
// rule. What could make it wrong there is another ratio between the two waves: `bench --tune` measures that and prints
// the entry to add (bench/README.md).
//
// The rule knows one change from pair to single. Where single has just begun another wave (n = 133 .. 198 on an H200)
// three waves of pair may be shorter than its two; `bench --tune` says so, the table cannot.
#pragma once

#include <cstdint>

namespace vdn_delta::host {

struct AutoRule {
  int capability;        // 10 * major + minor; 0: any
  int multiprocessors;   // of the device or of its MIG slice; 0: any
  int pair_waves;        // pair is preferred while so many waves of resident clusters hold all matrices; 0: never
  const char* known_by;  // the record in bench/records that holds both variants' times, or "derived"
};

// The first entry that fits counts; the last one fits every device.
// clang-format off
inline constexpr AutoRule kAutoTable[] = {
    // capability  SMs  pair waves  known by
    {  90,         132, 1,          "bench/records/2026-11-30-h200-2.json"},  // an H200; an H100 SXM is alike
    {  90,         0,   1,          "derived"},
    {  100,        0,   1,          "derived"},
    {  103,        0,   1,          "derived"},
    {  0,          0,   1,          "derived"},
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

// The largest n for which the rule prefers pair, on a device that holds `clusters` of its clusters at once.
constexpr std::int64_t pair_up_to(const AutoRule& rule, int clusters) {
  return std::int64_t{rule.pair_waves} * clusters;
}

}  // namespace vdn_delta::host
