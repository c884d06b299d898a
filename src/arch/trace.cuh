// SPDX-License-Identifier: Apache-2.0
//
// Clock samples for the timeline of a debug build (-DVDN_TRACE); nothing otherwise.
#pragma once

#include "arch/target.cuh"

namespace vdn_delta::arch {

#ifdef VDN_TRACE
constexpr int kTraceWarps = 32, kTraceMarks = 256;  // [CTA 0 or 1][warp][mark]
static __device__ long long vdn_trace[2 * kTraceWarps * kTraceMarks];
VDN_DEVICE void trace(int mark) {
  if (blockIdx.x < 2 && threadIdx.x % 32 == 0) {
    long long t;
    asm volatile("mov.u64 %0, %%clock64;" : "=l"(t)::"memory");
    vdn_trace[(static_cast<int>(blockIdx.x) * kTraceWarps + static_cast<int>(threadIdx.x) / 32) * kTraceMarks + mark] = t;
  }
}
VDN_DEVICE void trace_time(int mark) {
  if (blockIdx.x < 2 && threadIdx.x % 32 == 0) {
    long long t;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t)::"memory");
    vdn_trace[(static_cast<int>(blockIdx.x) * kTraceWarps + static_cast<int>(threadIdx.x) / 32) * kTraceMarks + mark] = t;
  }
}
#else
VDN_DEVICE void trace(int) {}
VDN_DEVICE void trace_time(int) {}
#endif

}  // namespace vdn_delta::arch
