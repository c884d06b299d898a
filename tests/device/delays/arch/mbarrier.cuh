// SPDX-License-Identifier: Apache-2.0
//
// src/arch/mbarrier.cuh, with jitter before an arrival and behind a wait.
#pragma once

#define mbarrier_arrive mbarrier_arrive_at_once
#define mbarrier_wait mbarrier_wait_at_once
#include "../../../../src/arch/mbarrier.cuh"
#undef mbarrier_wait
#undef mbarrier_arrive

#include "arch/delay.cuh"

namespace vdn_delta::arch {

VDN_DEVICE void mbarrier_arrive(Mbarrier* b) {
  jitter();
  mbarrier_arrive_at_once(b);
}

VDN_DEVICE void mbarrier_wait(Mbarrier* b, int parity) {
  mbarrier_wait_at_once(b, parity);
  jitter();
}

}  // namespace vdn_delta::arch
