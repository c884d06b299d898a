// SPDX-License-Identifier: Apache-2.0
//
// What VDN_VARIANT_AUTO takes: one table, by device, and how its entries without a record are derived. Plain C++.
//
// All kernels are persistent, so a call takes as many turns as there are waves of matrices: of resident CTAs for single
// and compact, of resident clusters for pair. A wave takes the same time however full it is, within a few per cent, but
// for a last one of single that is at most half full and shared, which is taken for a whole one here; so
//
//     time = first wave + (waves - 1) x next wave
//
// of each variant. The shortest is taken, but a less plain variant only where it is at least 3 % shorter than the best
// of the plainer ones: below that two are as good as equal. On an H200 (132 SMs, 66 clusters) a wave of pair takes
// little more than half of the others' and holds half as many: pair for n <= 66, compact for one full wave of its own
// (n = 67 .. 132), pair again where three waves of it meet two of the others (133 .. 198), single beyond, which
// overlaps the end of one matrix with the next.
//
// Only the ratios of the times count, so that neither the clock, nor the number of SMs, nor the memory is part of the
// argument: they change the times of all variants alike, or the size of a wave, which the device says itself (66
// clusters on an H200, 74 expected on a B200 of 148 SMs, fewer on a MIG slice). That is why devices without a record
// have the numbers of the H200. Where the ratios are others, `bench --tune` measures them and prints the entry to add
// (bench/README.md).
#pragma once

#include <cstdint>

namespace vdn_delta::host {

// The variants, the plainer one first.
enum AutoVariant : int { kAutoSingle, kAutoCompact, kAutoPair, kAutoVariants };

// Microseconds of the first wave when it is full, and of each further one.
struct WaveTimes {
  double first, next;
};

struct AutoRule {
  int capability;                  // 10 * major + minor; 0: any
  int multiprocessors;             // of the device or of its MIG slice; 0: any
  WaveTimes times[kAutoVariants];  // by AutoVariant
  const char* known_by;            // the record in bench/records that the times are from, or "derived"
};

// The first entry that fits counts; the last one fits every device.
// clang-format off
inline constexpr AutoRule kAutoTable[] = {
    // capability  SMs   single        compact       pair         known by: times are first, next
    {  90,         132, {{36.1, 24.3}, {32.6, 34.6}, {19.5, 17.7}},  "bench/records/2026-11-30-h200-7.json"},  // H200
    {  0,          0,   {{36.1, 24.3}, {32.6, 34.6}, {19.5, 17.7}},  "derived"},  // the others: the H200's
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

// How many matrices a device works on at once, by AutoVariant: resident CTAs, or clusters; 0: it cannot run there.
struct Units {
  std::int64_t of[kAutoVariants] = {};
};

// The variant that the rule takes for n matrices; kAutoVariants if none can run.
constexpr int fastest(const AutoRule& rule, std::int64_t n, const Units& units) {
  constexpr double kGain = 0.97;
  int best = kAutoVariants;
  double least = 0;
  for (int v = 0; v < kAutoVariants; ++v) {
    if (units.of[v] <= 0) continue;
    const std::int64_t more = n > 0 ? (n - 1) / units.of[v] : 0;  // waves behind the first
    const double time = rule.times[v].first + rule.times[v].next * static_cast<double>(more);
    if (best != kAutoVariants && time >= kGain * least) continue;
    best = v;
    least = time;
  }
  return best;
}

}  // namespace vdn_delta::host
