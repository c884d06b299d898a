// SPDX-License-Identifier: Apache-2.0
//
// src/arch/mbarrier.cuh for the emulator.
#pragma once

#include <cstdint>

#include "arch/target.cuh"

namespace vdn_delta::arch {

using Mbarrier = std::uint64_t;

inline void mbarrier_init(Mbarrier* b, int arrivals, Where where = here()) {
  machine().mbarrier_init(b, arrivals, where);
}
inline void mbarrier_fence_init(Where where = here()) { machine().mbarrier_fence_init(where); }
inline void mbarrier_arrive(Mbarrier* b, Where where = here()) {
  machine().mbarrier_arrive(b, emulator::Release::kCta, 0, false, where);
}
inline void mbarrier_wait(Mbarrier* b, int parity, Where where = here()) {
  machine().mbarrier_wait(b, parity, emulator::Acquire::kCta, where);
}

}  // namespace vdn_delta::arch
