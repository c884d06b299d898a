// SPDX-License-Identifier: Apache-2.0
//
// Barriers inside one CTA. A named barrier orders the shared-memory accesses of its participants; a warp barrier those
// of the warp's lanes. https://docs.nvidia.com/cuda/parallel-thread-execution/ "bar, barrier", "bar.warp.sync"
#pragma once

#include "arch/target.cuh"

namespace vdn_delta::arch {

// All `threads` participants (a multiple of 32) arrive and wait. Called by whole warps; `id` is the same in all.
template <int threads>
VDN_DEVICE void barrier_sync(int id) {
  asm volatile("barrier.cta.sync.aligned %0, %1;" ::"r"(id), "n"(threads) : "memory");
}

// All threads of the CTA.
VDN_DEVICE void cta_sync() { __syncthreads(); }

VDN_DEVICE void warp_sync() { __syncwarp(); }

}  // namespace vdn_delta::arch
