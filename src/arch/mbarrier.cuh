// SPDX-License-Identifier: Apache-2.0
//
// Barriers in shared memory that threads arrive at and threads wait on, the same ones or others, by phase parity.
// https://docs.nvidia.com/cuda/parallel-thread-execution/ "mbarrier"
#pragma once

#include <cstdint>

#include "arch/target.cuh"

namespace vdn_delta::arch {

using Mbarrier = std::uint64_t;

// One thread, before a CTA barrier that everybody passes.
VDN_DEVICE void mbarrier_init(Mbarrier* b, int arrivals) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(shared_address(b)), "r"(arrivals) : "memory");
}

// Behind the inits: makes them visible to the copy engine. "fence.mbarrier_init"
VDN_DEVICE void mbarrier_fence_init() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }

// Release at CTA scope: what this thread wrote, or saw through a barrier, is visible to who waits for the phase.
VDN_DEVICE void mbarrier_arrive(Mbarrier* b) {
  asm volatile("mbarrier.arrive.release.cta.shared::cta.b64 _, [%0];" ::"r"(shared_address(b)) : "memory");
}

// Waits until the phase of this parity has completed; acquire at CTA scope. A fresh barrier counts as having completed
// parity 1.
VDN_DEVICE void mbarrier_wait(Mbarrier* b, int parity) {
  asm volatile(
      "{\n"
      ".reg .pred done;\n"
      "again:\n"
      "mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 done, [%0], %1;\n"
      "@done bra over;\n"
      "bra again;\n"
      "over:\n"
      "}\n" ::"r"(shared_address(b)),
      "r"(parity)
      : "memory");
}

}  // namespace vdn_delta::arch
