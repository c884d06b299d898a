// SPDX-License-Identifier: Apache-2.0
#include "report.h"

#include <cstdio>

namespace vdn_delta::bench {
namespace {

// Two runs of the same program differ by about this much between processes; less is no finding.
constexpr double kLeastChange = 0.01;

std::string percent(double part, double whole) {
  if (whole <= 0) return "-";
  char text[16];
  std::snprintf(text, sizeof text, "%.0f", 100 * part / whole);
  return text;
}

std::string bar(double value) {
  if (value <= 0) return "-";
  char text[16];
  std::snprintf(text, sizeof text, "%.2e", value);
  return text;
}

// Faster or slower when the spreads (p10 to p90) do not touch and the medians differ by more than kLeastChange.
const char* verdict(const TimingRow& before, const TimingRow& after) {
  const double ratio = after.us_median / before.us_median;
  if (after.us_p90 < before.us_p10 && ratio < 1 - kLeastChange) return "faster";
  if (after.us_p10 > before.us_p90 && ratio > 1 + kLeastChange) return "slower";
  return "undecided";
}

}  // namespace

void print_counts(const Ceilings& ceilings) {
  std::printf(
      "counted   %.2f MFLOP per matrix (3 x 128^3: inverse n^3, product 2 n^3) and %.0f bytes (lower triangle of"
      " A\n          in 32-byte sectors, B, alpha, T, J)\n",
      kFlopPerMatrix * 1e-6, kBytesPerMatrix);
  if (ceilings.ffma_tflops > 0) {
    std::printf(
        "ceilings  %.1f TFLOP/s fp32 FMA from registers, %.0f GB/s copy (read + write), both measured now;"
        " clock then %.0f MHz\n",
        ceilings.ffma_tflops, ceilings.copy_gbs, ceilings.clock_mhz);
  }
}

void print_error_head() {
  std::printf(
      "\naccuracy: relative Frobenius error against fp64, over the batch and of the worst single matrix\n"
      "%-15s %-8s %6s %6s %5s %6s  %8s %8s  %8s %8s  %8s %8s  %s\n",
      "variant", "family", "tokens", "scale", "shift", "n", "T", "J", "worst T", "worst J", "bar T", "bar J",
      "verdict");
}

void print_error_row(const ErrorRow& row) {
  std::printf("%-15s %-8s %6d %6g %5g %6lld  %8.2e %8.2e  %8.2e %8.2e  %8s %8s  %s\n", row.variant.c_str(),
              row.family.c_str(), row.tokens, row.beta_scale, row.shift, static_cast<long long>(row.n), row.err_T,
              row.err_J, row.worst_T, row.worst_J, bar(row.bar_T).c_str(), bar(row.bar_J).c_str(),
              row.verdict.empty() ? "(not judged)" : row.verdict.c_str());
  std::fflush(stdout);
}

void print_timing_head() {
  std::printf("\ntiming: microseconds per call\n%-15s %-10s %7s  %10s %10s %10s %7s  %6s %6s  %s\n", "variant", "mode",
              "n", "median", "p10", "p90", "samples", "% FMA", "% copy", "baseline / this");
}

void print_timing_row(const TimingRow& row, const Ceilings& ceilings, double baseline_us) {
  const double matrices = static_cast<double>(row.n);
  const double tflops = matrices * kFlopPerMatrix / row.us_median * 1e-6;
  const double gbs = matrices * kBytesPerMatrix / row.us_median * 1e-3;
  char ratio[16] = "-";
  if (baseline_us > 0) std::snprintf(ratio, sizeof ratio, "%.2f", baseline_us / row.us_median);
  const std::string name = row.variant + (row.by_auto ? " (auto)" : "");
  std::printf("%-15s %-10s %7lld  %10.1f %10.1f %10.1f %7d  %6s %6s  %s\n", name.c_str(), row.mode.c_str(),
              static_cast<long long>(row.n), row.us_median, row.us_p10, row.us_p90, row.samples,
              percent(tflops, ceilings.ffma_tflops).c_str(), percent(gbs, ceilings.copy_gbs).c_str(), ratio);
  std::fflush(stdout);
}

void print_tsv(const Record& record) {
  const char* where = record.gpu.empty() ? record.cpu.c_str() : record.gpu.c_str();
  std::printf("#timing\tdate\tdevice\tvariant\tmode\tn\tus_median\tus_p10\tus_p90\tsamples\n");
  for (const TimingRow& row : record.timings) {
    std::printf("timing\t%s\t%s\t%s\t%s\t%lld\t%.6g\t%.6g\t%.6g\t%d\n", record.date.c_str(), where, row.variant.c_str(),
                row.mode.c_str(), static_cast<long long>(row.n), row.us_median, row.us_p10, row.us_p90, row.samples);
  }
  std::printf("#error\tdate\tdevice\tvariant\tfamily\ttokens\tbeta_scale\tshift\tn\terr_T\terr_J\tworst_T\tworst_J\n");
  for (const ErrorRow& row : record.errors) {
    std::printf("error\t%s\t%s\t%s\t%s\t%d\t%g\t%g\t%lld\t%.4g\t%.4g\t%.4g\t%.4g\n", record.date.c_str(), where,
                row.variant.c_str(), row.family.c_str(), row.tokens, row.beta_scale, row.shift,
                static_cast<long long>(row.n), row.err_T, row.err_J, row.worst_T, row.worst_J);
  }
}

void print_comparison(const Record& before, const Record& after) {
  std::printf("%-15s %-10s %7s  %12s %12s %8s  %s\n", "variant", "mode", "n", "old us", "new us", "new/old", "verdict");
  int compared = 0;
  for (const TimingRow& now : after.timings) {
    for (const TimingRow& then : before.timings) {
      if (then.n != now.n || then.variant != now.variant || then.mode != now.mode) continue;
      std::printf("%-15s %-10s %7lld  %12.1f %12.1f %8.3f  %s\n", now.variant.c_str(), now.mode.c_str(),
                  static_cast<long long>(now.n), then.us_median, now.us_median, now.us_median / then.us_median,
                  verdict(then, now));
      ++compared;
      break;
    }
  }
  if (compared == 0) std::printf("the two records have no row in common\n");
  if (before.gpu != after.gpu || (before.gpu.empty() && before.cpu != after.cpu)) {
    std::printf("note: the records come from different machines\n");
  }
}

}  // namespace vdn_delta::bench
