// SPDX-License-Identifier: Apache-2.0
//
// One measurement each: the rows of the tables and of the records.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "stats.h"

namespace vdn_delta::bench {

struct TimingRow {
  std::int64_t n = 0;
  std::string variant;  // "single", "pair", "compact", "cpu" or "baseline:<name>"
  std::string mode;     // "graph", "graph-cold", "stream" or "cpu"
  double us_median = 0, us_p10 = 0, us_p90 = 0;
  int samples = 0;
  bool by_auto = false;  // `variant` is the one that VDN_VARIANT_AUTO takes for this n
};

inline TimingRow timing_row(std::int64_t n, const std::string& variant, const std::string& mode,
                            const std::vector<double>& us) {
  return {n,    variant, mode, quantile(us, 0.5), quantile(us, 0.1), quantile(us, 0.9), static_cast<int>(us.size()),
          false};
}

struct ErrorRow {
  std::int64_t n = 0;
  std::string variant;
  std::string family;  // "silu", "normal" or "shifted"
  int tokens = 0;
  double beta_scale = 0;
  double shift = 0;  // family shifted only
  std::uint64_t seed = 0;
  double err_T = 0, err_J = 0;      // relative Frobenius error over the whole batch
  double worst_T = 0, worst_J = 0;  // of the worst single matrix
  double bar_T = 0, bar_J = 0;      // 0: no figure is asked for
  std::string verdict;              // "OK", "FAIL", or empty for a baseline, which is not judged
};

// What the machine can do at most, measured in the same run. 0: not measured.
struct Ceilings {
  double ffma_tflops = 0;
  double copy_gbs = 0;   // bytes read plus bytes written
  double clock_mhz = 0;  // while the FFMA microkernel ran
};

}  // namespace vdn_delta::bench
