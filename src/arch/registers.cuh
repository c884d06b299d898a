// SPDX-License-Identifier: Apache-2.0
//
// Registers handed from warps that need few to warps that need many. Only on targets with architecture-specific
// features (sm_90a, sm_100a); elsewhere nothing happens and every warp keeps what the kernel was launched with.
// https://docs.nvidia.com/cuda/parallel-thread-execution/ "setmaxnreg"
#pragma once

#include "arch/target.cuh"

#if defined(__CUDA_ARCH_FEAT_SM90_ALL) || defined(__CUDA_ARCH_FEAT_SM100_ALL)
#define VDN_HAS_SETMAXNREG 1
#endif

namespace vdn_delta::arch {

// Called by all four warps of a warpgroup (warps 4 i .. 4 i + 3). Count is a multiple of 8 from 24 to 256. An increase
// waits until the registers are there.
template <int count>
VDN_DEVICE void release_registers() {
#ifdef VDN_HAS_SETMAXNREG
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(count));
#endif
}
template <int count>
VDN_DEVICE void claim_registers() {
#ifdef VDN_HAS_SETMAXNREG
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(count));
#endif
}

}  // namespace vdn_delta::arch
