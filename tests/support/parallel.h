// SPDX-License-Identifier: Apache-2.0
//
// One loop over the matrices of a batch on all processors.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace vdn_delta::support {

// Calls body(m) once for every m in [0, n), from `threads` threads (0: all hardware threads), in any order.
template <class Body>
void parallel_for(std::int64_t n, int threads, const Body& body) {
  std::int64_t workers = threads > 0 ? threads : static_cast<std::int64_t>(std::thread::hardware_concurrency());
  workers = std::max<std::int64_t>(1, std::min(workers, n));
  std::atomic<std::int64_t> next{0};
  const auto work = [&]() {
    for (std::int64_t m = next++; m < n; m = next++) body(m);
  };
  std::vector<std::thread> helpers;
  for (std::int64_t i = 1; i < workers; ++i) helpers.emplace_back(work);
  work();
  for (std::thread& helper : helpers) helper.join();
}

}  // namespace vdn_delta::support
