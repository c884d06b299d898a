// SPDX-License-Identifier: Apache-2.0
//
// The device code that tests need beside the library's own: work that takes a known time, predecessors that write late,
// and comparisons of more memory than one wants to copy to the host. Every function enqueues one kernel and returns
// what the runtime answered. Waiting kernels count their turns as well as the time, so that none can run for ever.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace vdn_delta::test {

// Loads all kernels of this file, as a launch inside a capture must not be the first one.
cudaError_t load_kernels();

// One thread that does nothing for so long.
cudaError_t spin(int microseconds, cudaStream_t stream);

// A kernel that ends in an error, with which the process's context is lost.
cudaError_t crash(cudaStream_t stream);

// `ctas` CTAs with all the shared memory that a CTA can have, so that each keeps a multiprocessor from other work.
cudaError_t hold_multiprocessors(int ctas, int microseconds, cudaStream_t stream);

// Leaves `word` everywhere in the shared memory of all multiprocessors.
cudaError_t fill_shared_memory(std::uint32_t word, cudaStream_t stream);

// Copies `words` words from source to target for each of `count` arrays, `microseconds` after it has started. With
// `trigger`, it allows its programmatic successor to start before that.
struct LateWrite {
  static constexpr int kMost = 3;
  const std::uint32_t* source[kMost];
  std::uint32_t* target[kMost];
  std::int64_t words[kMost];
  int count;
  int microseconds;
  bool trigger;
};
cudaError_t write_late(const LateWrite& write, cudaStream_t stream);

// *counter += the number of i in [period, count) with words[i] != words[i % period].
cudaError_t count_aperiodic(const void* words, std::int64_t count, std::int64_t period, unsigned long long* counter,
                            cudaStream_t stream);

// *counter += the number of i in [0, count) with words[i] != word.
cudaError_t count_unlike(const void* words, std::int64_t count, std::uint32_t word, unsigned long long* counter,
                         cudaStream_t stream);

// Reciprocals of pivots, for all mantissas of four exponents, against the correctly rounded ones. counters[0] += those
// of the library that differ, [1] += those of the approximate instruction that it starts from, [2] += those of them
// that are more than 1 ulp off.
constexpr unsigned long long kReciprocals = 4ull << 23;
cudaError_t count_reciprocals(unsigned long long* counters, cudaStream_t stream);

}  // namespace vdn_delta::test
