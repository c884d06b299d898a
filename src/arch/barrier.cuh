// SPDX-License-Identifier: Apache-2.0
//
// Barriers inside one CTA. A named barrier orders the shared-memory accesses of its participants; a warp barrier those
// of the warp's lanes. https://docs.nvidia.com/cuda/parallel-thread-execution/ "bar, barrier", "bar.warp.sync"
#pragma once

#include "arch/target.cuh"

namespace vdn_delta::arch {

// Ids and counts are template arguments, since the sanitizers follow a named barrier only if both stand in the
// instruction. `threads` counts the participants, a multiple of 32; called by whole warps.

// Arrives and waits for all participants.
template <int id, int threads>
VDN_DEVICE void barrier_sync() {
  asm volatile("barrier.cta.sync.aligned %0, %1;" ::"n"(id), "n"(threads) : "memory");
}

// Arrives without waiting.
template <int id, int threads>
VDN_DEVICE void barrier_arrive() {
  asm volatile("barrier.cta.arrive.aligned %0, %1;" ::"n"(id), "n"(threads) : "memory");
}

// All threads of the CTA.
VDN_DEVICE void cta_sync() { __syncthreads(); }

VDN_DEVICE void warp_sync() { __syncwarp(); }

}  // namespace vdn_delta::arch
