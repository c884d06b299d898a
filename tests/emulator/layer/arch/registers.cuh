// SPDX-License-Identifier: Apache-2.0
//
// Registers are not modelled: docs/emulator.md.
#pragma once

#include "arch/target.cuh"

namespace vdn_delta::arch {

constexpr bool kHasRegisterHandover = true;

template <int count>
VDN_DEVICE void release_registers() {}
template <int count>
VDN_DEVICE void claim_registers() {}

}  // namespace vdn_delta::arch
