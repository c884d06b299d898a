// SPDX-License-Identifier: Apache-2.0
//
// The delays themselves. This folder stands before src/ on the include path of the delayed copies; its headers are
// those of src/arch with some functions wrapped.
#pragma once

#include <cuda_runtime.h>

#include "../delays.h"

namespace vdn_delta::arch {

__device__ vdn_delays::Delays asked_delays;

// In pieces, as one nanosleep takes a millisecond at most and may end early. Inlined: a function that warps of
// different numbers of registers call (single's, arch/registers.cuh) is more than ptxas can allocate.
__device__ __forceinline__ void hold(unsigned nanoseconds) {
  unsigned long long start, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
  // No more turns than a hundred times the time asked for: nothing here may run for ever.
  for (unsigned turn = 0; turn < nanoseconds; ++turn) {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    if (now - start >= nanoseconds) return;
    __nanosleep(100);
  }
}

__device__ __forceinline__ void delay_at(int place) {
  if (asked_delays.place != place || asked_delays.rank != static_cast<int>(blockIdx.x % 2)) return;
  hold(asked_delays.nanoseconds);
}

// One time in eight, by the clock: lanes that are together read the same one.
__device__ __forceinline__ void jitter() {
  if (asked_delays.jitter == 0) return;
  unsigned mixed = static_cast<unsigned>(clock64()) ^ asked_delays.seed ^ (threadIdx.x / 32 * 0x9e3779b9u);
  mixed = (mixed ^ mixed >> 15) * 0x85ebca6bu;
  mixed = (mixed ^ mixed >> 13) * 0xc2b2ae35u;
  mixed ^= mixed >> 16;
  if (mixed % 8 == 0) hold((mixed >> 3) % asked_delays.jitter);
}

}  // namespace vdn_delta::arch
