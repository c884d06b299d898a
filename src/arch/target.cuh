// SPDX-License-Identifier: Apache-2.0
//
// How code is marked for the machine it runs on. Together with the other files of this folder it is the only place that
// knows CUDA's own words: a second implementation of the folder can run the same kernels on a CPU.
#pragma once

#include <cuda_runtime.h>

#define VDN_DEVICE __device__ __forceinline__
#define VDN_KERNEL(threads, ctas_per_sm) __global__ void __launch_bounds__(threads, ctas_per_sm)
#define VDN_UNROLL _Pragma("unroll")
#define VDN_UNROLL_BY(n) VDN_PRAGMA(unroll n)
#define VDN_PRAGMA(text) _Pragma(#text)
#define VDN_NO_UNROLL _Pragma("unroll 1")

namespace vdn_delta::arch {

// https://docs.nvidia.com/cuda/parallel-thread-execution/ "Special Registers"
VDN_DEVICE int thread_index() { return static_cast<int>(threadIdx.x); }
VDN_DEVICE int block_index() { return static_cast<int>(blockIdx.x); }
VDN_DEVICE int block_count() { return static_cast<int>(gridDim.x); }

// x, by a path that the compiler cannot see through: what is derived from it is computed where it is used, not held in
// registers across the kernel.
VDN_DEVICE int opaque(int x) {
  asm volatile("" : "+r"(x));
  return x;
}

// In a branch: keeps it one. The compiler else makes selects of a short branch, which are executed, taken or not.
VDN_DEVICE void stay_branch() { asm volatile(""); }

// A place in the code over which the assembler moves no memory access. Counted by hardware profilers as an event; no
// other effect. https://docs.nvidia.com/cuda/parallel-thread-execution/ "pmevent"
VDN_DEVICE void keep_order() { asm volatile("pmevent 0;"); }

// The CTA's dynamic shared memory, as the one struct that a kernel's smem.h declares.
template <class Smem>
VDN_DEVICE Smem& dynamic_shared() {
  extern __shared__ __align__(128) unsigned char vdn_dynamic_shared[];
  return *reinterpret_cast<Smem*>(vdn_dynamic_shared);
}

// The 32-bit address by which instructions name a place in the CTA's shared memory.
VDN_DEVICE unsigned shared_address(const void* p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); }

// Whether there are clusters, the copy engine and what belongs to them, which came with sm_90. A kernel that needs them
// is compiled for older machines too, as a stub that refuses: one program may hold code for all of them, and the host
// chooses.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
constexpr bool kHasClusters = false;
#else
constexpr bool kHasClusters = true;
#endif

// Ends the grid with an error: a stub was launched. Better than outputs that nobody wrote.
VDN_DEVICE void refuse() { asm volatile("trap;"); }

// griddepcontrol.wait: returns when the grids that this one depends on have finished and their writes are visible; at
// once if this grid was launched without programmatic stream serialization. (PTX ISA 7.8, sm_90.) Before sm_90 no grid
// starts early, so that there is nothing to wait for.
VDN_DEVICE void wait_for_predecessor() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  cudaGridDependencySynchronize();
#endif
}

}  // namespace vdn_delta::arch
