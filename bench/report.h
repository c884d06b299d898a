// SPDX-License-Identifier: Apache-2.0
//
// What the bench prints: tables for people, tab-separated columns for programs, and the comparison of two records.
#pragma once

#include "record.h"

namespace vdn_delta::bench {

// What one matrix costs, as the percentages count it.
constexpr double kFlopPerMatrix = 3.0 * 128 * 128 * 128;
// The lower triangle of A in 32-byte sectors (8 floats): rows 8b..8b+7 take b + 1 of them each.
constexpr double kBytesTriangle = 8.0 * (16 * 17 / 2) * 32;
constexpr double kBytesPerMatrix = kBytesTriangle + 3.0 * 128 * 128 * 4 + 128 * 4;

void print_counts(const Ceilings& ceilings);

void print_error_head();
void print_error_row(const ErrorRow& row);

void print_timing_head();
// `baseline_us` is the median of the baseline at the same n, 0 when there is none.
void print_timing_row(const TimingRow& row, const Ceilings& ceilings, double baseline_us);

void print_tsv(const Record& record);

// For every timing row that both records hold: faster, slower or undecided.
void print_comparison(const Record& before, const Record& after);

}  // namespace vdn_delta::bench
