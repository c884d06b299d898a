// SPDX-License-Identifier: Apache-2.0
//
// src/arch/barrier.cuh, with jitter around named barriers.
#pragma once

#define barrier_sync barrier_sync_at_once
#include "../../../../src/arch/barrier.cuh"
#undef barrier_sync

#include "arch/delay.cuh"

namespace vdn_delta::arch {

template <int id, int threads>
VDN_DEVICE void barrier_sync() {
  jitter();
  warp_sync();  // whole warps are called for
  barrier_sync_at_once<id, threads>();
}

}  // namespace vdn_delta::arch
