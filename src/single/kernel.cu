// SPDX-License-Identifier: Apache-2.0
#include "arch/barrier.cuh"
#include "arch/launch.cuh"
#include "arch/mbarrier.cuh"
#include "single/launch.h"
#include "single/roles.cuh"

namespace vdn_delta::single {
namespace {

VDN_KERNEL(kThreads, kCtasPerSm) vdn_delta_factors_128_f32_single(const Params params) {
  Smem& smem = arch::dynamic_shared<Smem>();
  const int thread = arch::thread_index();
  if (thread < kPanels) {
    arch::mbarrier_init(&smem.h_ready[thread], 1);
    arch::mbarrier_init(&smem.h_free[thread], kInjectWarps);
  }
  if (thread < kInjectWarps) arch::mbarrier_init(&smem.b_ready[thread], 1);
  if (thread == 0) {
    arch::mbarrier_init(&smem.a_ready, 1);
    arch::mbarrier_init(&smem.t_ready, kSweepThreads);
    arch::mbarrier_fence_init();
  }
  arch::cta_sync();
  arch::wait_for_predecessor();
  if (thread < kInjectThreads) {
    inject_role(smem, params, thread / 32, thread % 32);
  } else if (thread < kInjectThreads + kSweepThreads) {
    sweep_role(smem, params, thread - kInjectThreads);
  } else if (thread < kInjectThreads + kSweepThreads + kPivotThreads) {
    pivot_role(smem, params, (thread - kInjectThreads - kSweepThreads) / 32, thread % 32);
  } else if (thread % 32 == 0) {
    copy_role(smem, params);
  }
}

}  // namespace

cudaError_t prepare(KernelFacts* facts) {
  *facts = KernelFacts{kThreads, static_cast<int>(sizeof(Smem)), 0, 0};
  cudaFuncAttributes attributes;
  cudaError_t error = cudaFuncGetAttributes(&attributes, vdn_delta_factors_128_f32_single);
  if (error != cudaSuccess) return error;
  facts->registers = attributes.numRegs;
  error = cudaFuncSetAttribute(vdn_delta_factors_128_f32_single, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               facts->shared_bytes);
  if (error != cudaSuccess) return error;
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(&facts->ctas_per_sm, vdn_delta_factors_128_f32_single, kThreads,
                                                       sizeof(Smem));
}

cudaError_t launch(const Params& params, const Launch& how, cudaStream_t stream) {
  const arch::LaunchShape shape{how.grid, kThreads, static_cast<int>(sizeof(Smem)), how.programmatic_launch};
  return arch::launch(vdn_delta_factors_128_f32_single, shape, stream, params);
}

}  // namespace vdn_delta::single
