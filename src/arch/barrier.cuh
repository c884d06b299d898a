// SPDX-License-Identifier: Apache-2.0
//
// Barriers inside one CTA. A named barrier orders the shared-memory accesses of its participants; a warp barrier those
// of the warp's lanes. https://docs.nvidia.com/cuda/parallel-thread-execution/ "bar, barrier", "bar.warp.sync"
#pragma once

#include "arch/target.cuh"

namespace vdn_delta::arch {

// All `threads` participants (a multiple of 32) arrive and wait. Called by whole warps.
VDN_DEVICE void barrier_sync(int id, int threads) {
  asm volatile("barrier.cta.sync.aligned %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

// Arrives for the calling warps without waiting.
VDN_DEVICE void barrier_arrive(int id, int threads) {
  asm volatile("barrier.cta.arrive.aligned %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

// All threads of the CTA.
VDN_DEVICE void cta_sync() { __syncthreads(); }

VDN_DEVICE void warp_sync() { __syncwarp(); }

}  // namespace vdn_delta::arch
