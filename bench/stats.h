// SPDX-License-Identifier: Apache-2.0
//
// Order statistics of a handful of samples.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace vdn_delta::bench {

// The q-quantile (0..1) by linear interpolation between the closest ranks; 0 for no samples.
inline double quantile(std::vector<double> samples, double q) {
  if (samples.empty()) return 0.0;
  std::sort(samples.begin(), samples.end());
  const double rank = q * static_cast<double>(samples.size() - 1);
  const std::size_t below = static_cast<std::size_t>(rank);
  const std::size_t above = std::min(below + 1, samples.size() - 1);
  return samples[below] + (rank - static_cast<double>(below)) * (samples[above] - samples[below]);
}

}  // namespace vdn_delta::bench
