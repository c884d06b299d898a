// SPDX-License-Identifier: Apache-2.0
//
// src/arch/bulk_copy.cuh for the emulator.
#pragma once

#include "arch/mbarrier.cuh"
#include "arch/target.cuh"

namespace vdn_delta::arch {

inline void fence_before_bulk_copy(Where where = here()) { machine().fence_proxy_async(where); }
inline void mbarrier_arrive_expect(Mbarrier* b, int bytes, Where where = here()) {
  machine().mbarrier_arrive(b, emulator::Release::kCta, bytes, false, where);
}
inline void bulk_load(float* shared, const float* global, int bytes, Mbarrier* b, Where where = here()) {
  machine().bulk_load(shared, global, bytes, b, where);
}
inline void bulk_store(float* global, const float* shared, int bytes, Where where = here()) {
  machine().bulk_store(global, shared, bytes, where);
}
inline void bulk_store_commit(Where where = here()) { machine().bulk_commit(where); }
inline void bulk_store_wait_read(Where where = here()) { machine().bulk_wait_read(where); }

}  // namespace vdn_delta::arch
