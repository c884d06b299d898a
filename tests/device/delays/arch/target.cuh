// SPDX-License-Identifier: Apache-2.0
//
// src/arch/target.cuh, with a delay at the kernel's entry: its shared memory is what a kernel asks for first.
#pragma once

#define dynamic_shared dynamic_shared_at_once
#include "../../../../src/arch/target.cuh"
#undef dynamic_shared

#include "arch/delay.cuh"

namespace vdn_delta::arch {

template <class Smem>
VDN_DEVICE Smem& dynamic_shared() {
  delay_at(vdn_delays::kEntry);
  return dynamic_shared_at_once<Smem>();
}

}  // namespace vdn_delta::arch
