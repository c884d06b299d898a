// SPDX-License-Identifier: Apache-2.0
//
// src/arch/barrier.cuh for the emulator.
#pragma once

#include "arch/target.cuh"

namespace vdn_delta::arch {

template <int threads>
void barrier_sync(int id, Where where = here()) {
  machine().barrier_sync(id, threads, where);
}
inline void cta_sync(Where where = here()) { machine().barrier_sync(0, 0, where); }
inline void warp_sync(Where where = here()) { machine().warp_sync(where); }

}  // namespace vdn_delta::arch
