// SPDX-License-Identifier: Apache-2.0
//
// src/arch/barrier.cuh, with jitter around named barriers.
#pragma once

#define barrier_sync barrier_sync_at_once
#include "../../../../src/arch/barrier.cuh"
#undef barrier_sync

#include "arch/delay.cuh"

namespace vdn_delta::arch {

template <int threads>
VDN_DEVICE void barrier_sync(int id) {
  jitter();
  warp_sync();  // whole warps are called for
  barrier_sync_at_once<threads>(id);
}

}  // namespace vdn_delta::arch
