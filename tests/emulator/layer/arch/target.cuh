// SPDX-License-Identifier: Apache-2.0
//
// The second implementation of src/arch/: the same words, for the emulator. This folder stands before src/ on the
// include path of the emulated kernels, and src/arch/ is not used (but for what its ffma2.cuh does on sm_90).
#pragma once

#include <cuda_runtime_api.h>

#include "../../machine/machine.h"

#define VDN_DEVICE inline
#define VDN_KERNEL(threads, ctas_per_sm) void
#define VDN_UNROLL
#define VDN_UNROLL_BY(n)
#define VDN_NO_UNROLL

struct alignas(8) float2 {
  float x, y;
};
struct alignas(16) float4 {
  float x, y, z, w;
};
inline float2 make_float2(float x, float y) { return {x, y}; }
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }

namespace vdn_delta::arch {

using emulator::here;
using emulator::machine;
using emulator::Where;

inline int thread_index() { return machine().thread_index(); }
inline int block_index() { return machine().block_index(); }
inline int block_count() { return machine().block_count(); }
inline int opaque(int x) { return x; }
inline void stay_branch() {}

template <class Smem>
Smem& dynamic_shared() {
  return *static_cast<Smem*>(machine().dynamic_shared(sizeof(Smem), alignof(Smem)));
}

constexpr bool kHasClusters = true;
inline void keep_order() {}
inline void refuse(Where = here()) {}  // of no emulated machine

inline void wait_for_predecessor() { machine().wait_for_predecessor(); }

}  // namespace vdn_delta::arch
