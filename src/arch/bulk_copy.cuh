// SPDX-License-Identifier: Apache-2.0
//
// Copies between global and shared memory by the copy engine, in the background. Addresses and sizes are multiples of
// 16 bytes. The engine is another observer of shared memory than the threads: whoever has touched a region by ordinary
// accesses fences before a barrier, and only behind the barrier may a copy of the region start.
// https://docs.nvidia.com/cuda/parallel-thread-execution/ "cp.async.bulk", "fence.proxy.async"
#pragma once

#include "arch/mbarrier.cuh"
#include "arch/target.cuh"

namespace vdn_delta::arch {

// Orders this thread's earlier accesses to shared memory before later copies (of any thread behind a barrier).
VDN_DEVICE void fence_before_bulk_copy() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// Arrives once and makes the phase wait for `bytes` more, to be brought by bulk loads.
VDN_DEVICE void mbarrier_arrive_expect(Mbarrier* b, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(b)), "r"(bytes)
               : "memory");
}

// Global to shared; the bytes count towards b's phase when they have arrived.
VDN_DEVICE void bulk_load(float* shared, const float* global, int bytes, Mbarrier* b) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                   shared_address(shared)),
               "l"(__cvta_generic_to_global(global)), "r"(bytes), "r"(shared_address(b))
               : "memory");
}

// Shared to global, as part of this thread's group of stores; commit closes the group.
VDN_DEVICE void bulk_store(float* global, const float* shared, int bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(__cvta_generic_to_global(global)),
               "r"(shared_address(shared)), "r"(bytes)
               : "memory");
}
VDN_DEVICE void bulk_store_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }

// Waits until the stores that this thread has committed no longer need their source.
VDN_DEVICE void bulk_store_wait_read() { asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory"); }

}  // namespace vdn_delta::arch
