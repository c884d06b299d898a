// SPDX-License-Identifier: Apache-2.0
//
// The CPU path's batch: levels at run time, threads over the matrices, the outcome of each matrix.
//
// Threads live for one call. A pool would be quicker by some microseconds, but would be dead in a forked child. A
// thread inherits the floating-point mode of the caller, so that the mode and not the thread count decides the bits.
#include <atomic>
#include <limits>
#include <new>
#include <thread>
#include <vector>

#include "cpu.h"

#if defined(__linux__)
#include <sched.h>
#endif

#include "level.h"

namespace vdn_delta::cpu {
namespace {

// More threads than any host has cores; keeps a wild argument from exhausting the process table.
constexpr int kMaxThreads = 1024;

SolveFunction solve_of(Level level) noexcept {
#if defined(VDN_CPU_X86_LEVELS)
  if (level == Level::kAvx512) return avx512::solve;
  if (level == Level::kAvx2) return avx2::solve;
#else
  (void)level;
#endif
  return baseline::solve;
}

// Processors this thread may run on: a container or taskset often allows fewer than the machine has.
int available_processors() noexcept {
#if defined(__linux__)
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    const int count = CPU_COUNT(&set);
    if (count > 0) return count;
  }
#endif
  const unsigned count = std::thread::hardware_concurrency();
  return count == 0 ? 1 : static_cast<int>(count);
}

// Scratch of one thread for one call.
class Scratch {
 public:
  Scratch() noexcept
      : data_(static_cast<float*>(
            ::operator new(kScratchFloats * sizeof(float), std::align_val_t{kScratchAlign}, std::nothrow))) {}
  ~Scratch() { ::operator delete(data_, std::align_val_t{kScratchAlign}, std::nothrow); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  float* get() const noexcept { return data_; }

 private:
  float* data_;
};

void fill_nan(float* matrix) noexcept {
  for (int i = 0; i < kDim * kDim; ++i) matrix[i] = std::numeric_limits<float>::quiet_NaN();
}

// Takes matrices off the common counter until none is left.
void work(const Params& params, SolveFunction solve, std::atomic<std::int64_t>& next, float* scratch) noexcept {
  constexpr std::int64_t kMatrix = std::int64_t{kDim} * kDim;
  for (;;) {
    const std::int64_t m = next.fetch_add(1, std::memory_order_relaxed);
    if (m >= params.n) return;
    const Problem problem = {params.A + m * kMatrix, params.B + m * kMatrix, params.alpha + m * kDim,
                             params.T + m * kMatrix, params.J + m * kMatrix, params.a_scale,
                             params.b_scale};
    const std::int32_t info = solve(problem, scratch);
    if (info != 0) {
      fill_nan(problem.T);
      fill_nan(problem.J);
    }
    if (params.info != nullptr) params.info[m] = info;
  }
}

}  // namespace

Level best_level() noexcept {
#if defined(VDN_CPU_X86_LEVELS)
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
    return Level::kAvx512;
  if (avx2) return Level::kAvx2;
#endif
  return Level::kBaseline;
}

const char* level_name(Level level) noexcept {
  switch (level) {
    case Level::kAvx512: return "avx512";
    case Level::kAvx2: return "avx2";
    case Level::kBaseline: break;
  }
  return "baseline";
}

bool factors(const Params& params, int threads, Level level) noexcept {
  if (params.n <= 0) return true;
  std::int64_t wanted = threads > 0 ? threads : available_processors();
  if (wanted > params.n) wanted = params.n;
  if (wanted > kMaxThreads) wanted = kMaxThreads;

  const SolveFunction solve = solve_of(level);
  const Scratch own;
  if (own.get() == nullptr) return false;
  std::atomic<std::int64_t> next{0};

  // The caller is one of the workers. Where the system refuses a helper or its memory, those that exist do all the
  // work: the same bits, later.
  std::vector<std::thread> helpers;
  try {
    helpers.reserve(static_cast<std::size_t>(wanted - 1));
    for (std::int64_t i = 1; i < wanted; ++i) {
      helpers.emplace_back([&params, solve, &next]() noexcept {
        const Scratch scratch;
        if (scratch.get() != nullptr) work(params, solve, next, scratch.get());
      });
    }
  } catch (...) {
  }
  work(params, solve, next, own.get());
  for (std::thread& helper : helpers) helper.join();
  return true;
}

}  // namespace vdn_delta::cpu
