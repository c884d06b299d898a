// SPDX-License-Identifier: Apache-2.0
//
// Registers handed from warps that need few to warps that need many. Only in code for targets with features of their
// own (sm_90a; sm_100a, or sm_100f for the whole family); a kernel that needs it refuses elsewhere.
// https://docs.nvidia.com/cuda/parallel-thread-execution/ "setmaxnreg"
#pragma once

#include "arch/target.cuh"

namespace vdn_delta::arch {

// Whether this code may hand registers over. On Blackwell: the data-centre GPUs of its first family, which are 10.0 and
// 10.3. By the oldest nvcc (12.8) the target sm_100a alone, which has a macro of its own there.
#if !defined(__CUDA_ARCH__) || defined(__CUDA_ARCH_FEAT_SM90_ALL) || defined(__CUDA_ARCH_FEAT_SM100_ALL)
#define VDN_HAS_SETMAXNREG 1
#elif defined(__CUDA_ARCH_FAMILY_SPECIFIC__)
#if __CUDA_ARCH_FAMILY_SPECIFIC__ == 1000 || __CUDA_ARCH_FAMILY_SPECIFIC__ == 1030
#define VDN_HAS_SETMAXNREG 1
#endif
#endif
#ifdef VDN_HAS_SETMAXNREG
constexpr bool kHasRegisterHandover = true;
#else
constexpr bool kHasRegisterHandover = false;
#endif

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
