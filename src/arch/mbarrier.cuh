// SPDX-License-Identifier: Apache-2.0
//
// Barriers in shared memory that threads arrive at and threads wait on, the same ones or others, by phase parity.
// https://docs.nvidia.com/cuda/parallel-thread-execution/ "mbarrier"
//
// They exist from sm_80 on. What came with sm_90 has a second form here for older machines.
#pragma once

#include <cstdint>

#include "arch/target.cuh"

namespace vdn_delta::arch {

using Mbarrier = std::uint64_t;

// One thread, before a CTA barrier that everybody passes.
VDN_DEVICE void mbarrier_init(Mbarrier* b, int arrivals) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(shared_address(b)), "r"(arrivals) : "memory");
}

// Behind the inits: makes them visible to the copy engine and to the cluster, of which sm_80 has neither: there the CTA
// barrier behind it is enough. "fence.mbarrier_init"
VDN_DEVICE void mbarrier_fence_init() {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#endif
}

// Release at CTA scope: what this thread wrote, or saw through a barrier, is visible to who waits for the phase.
VDN_DEVICE void mbarrier_arrive(Mbarrier* b) {
  asm volatile("mbarrier.arrive.release.cta.shared::cta.b64 _, [%0];" ::"r"(shared_address(b)) : "memory");
}

// Waits until the phase of this parity has completed; acquire at CTA scope. A fresh barrier counts as having completed
// parity 1. try_wait lets the warp sleep for a while; test_wait, all that sm_80 has, answers at once and is asked
// again.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
#define VDN_MBARRIER_ASK "mbarrier.test_wait"
#else
#define VDN_MBARRIER_ASK "mbarrier.try_wait"
#endif
VDN_DEVICE void mbarrier_wait(Mbarrier* b, int parity) {
  asm volatile(
      "{\n"
      ".reg .pred done;\n"
      "again:\n" VDN_MBARRIER_ASK
      ".parity.acquire.cta.shared::cta.b64 done, [%0], %1;\n"
      "@done bra over;\n"
      "bra again;\n"
      "over:\n"
      "}\n" ::"r"(shared_address(b)),
      "r"(parity)
      : "memory");
}

}  // namespace vdn_delta::arch
