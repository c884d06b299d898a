// SPDX-License-Identifier: Apache-2.0
//
// The pair kernel: a matrix on a cluster of two CTAs, for latency. The leader sweeps M and pushes each H panel into the
// partner's shared memory; the partner holds B's rows in registers and injects. Bits are those of the single kernel.
//
//   leader   warps 0-7 sweep (36 elements a thread), 8 pivot (scheduler 0), 9-11 and 13 panel (one thread a row)
//   partner  warps 0-7 injection (16 rows of B each, 64 elements a thread)
//
// A step: sweep publishes c[s], diag[s+1] (arrives kPanel); pivot has pivot[s] (arrives kPivoted); panel solves G, E
// (kSolved), then H, pushed by st.async onto the partner's h_ready[s]; sweep updates by G_i . E_j and publishes;
// pivot forms and factors S_(s+1) meanwhile.
#include "arch/barrier.cuh"
#include "arch/cluster.cuh"
#include "arch/launch.cuh"
#include "arch/mbarrier.cuh"
#include "pair/launch.h"
#include "pair/roles.cuh"

namespace vdn_delta::pair {
namespace {

VDN_KERNEL(kThreads, kCtasPerSm) vdn_delta_factors_128_f32_pair(const Params params) {
  Smem& smem = arch::dynamic_shared<Smem>();
  const int thread = arch::thread_index(), warp = thread / 32, lane = thread % 32;
  const int rank = arch::cluster_rank(), cluster = arch::block_index() / kCluster;
  constexpr int leader = 0;
  const Share share{cluster, arch::block_count() / kCluster, static_cast<int>(params.n)};
  if (lane == 0) {  // one thread of each warp: the lanes of one would do it one after the other
    VDN_UNROLL
    for (int i = 0; i < (kPanels + kWarps - 1) / kWarps; ++i) {
      const int s = warp + i * kWarps;
      if (s >= kPanels) continue;
      if (rank == leader) {
        arch::mbarrier_init(&smem.h_free[s], kHFreeArrivals);
        arch::mbarrier_fence_init();
      } else {
        arch::mbarrier_init(&smem.h_ready[s], kHReadyArrivals);
        arch::mbarrier_fence_init();
        arch::mbarrier_arrive_expect(&smem.h_ready[s], panel_bytes(s));
      }
    }
  }
  arch::warp_sync();
  arch::cluster_arrive_relaxed();
  arch::wait_for_predecessor();
  if (rank == leader) {
    if (warp < kSweepWarps) {
      sweep_role(smem.leader, params, share, thread);
    } else if (warp < kSweepWarps + kPivotWarps) {
      pivot_role(smem.leader, params, share, lane);
    } else if (warp != kRestWarp) {
      panel_role(smem, share, leader ^ 1, thread - 32 * (kSweepWarps + kPivotWarps) - (warp > kRestWarp ? 32 : 0));
      arch::cluster_wait();
      return;
    }
    arch::cluster_wait();
    arch::cluster_arrive_relaxed();
  } else {
    arch::cluster_wait();
    arch::cluster_arrive_relaxed();
    if (warp < kInjectWarps) inject_role(smem, params, share, leader, warp, lane);
  }
  arch::cluster_wait();
}

}  // namespace

cudaError_t prepare(KernelFacts* facts) {
  *facts = KernelFacts{kThreads, static_cast<int>(sizeof(Smem)), 0, 0, 0};
  cudaFuncAttributes attributes;
  cudaError_t error = cudaFuncGetAttributes(&attributes, vdn_delta_factors_128_f32_pair);
  if (error != cudaSuccess) return error;
  facts->registers = attributes.numRegs;
  error = cudaFuncSetAttribute(vdn_delta_factors_128_f32_pair, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               facts->shared_bytes);
  if (error != cudaSuccess) return error;
  error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&facts->ctas_per_sm, vdn_delta_factors_128_f32_pair, kThreads,
                                                        sizeof(Smem));
  if (error != cudaSuccess) return error;
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = kCluster;
  attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(kCluster);
  config.blockDim = dim3(kThreads);
  config.dynamicSmemBytes = sizeof(Smem);
  config.attrs = &attribute;
  config.numAttrs = 1;
  return cudaOccupancyMaxActiveClusters(&facts->clusters, vdn_delta_factors_128_f32_pair, &config);
}

cudaError_t launch(const Params& params, const Launch& how, cudaStream_t stream) {
  const arch::LaunchShape shape{how.clusters * kCluster, kThreads, static_cast<int>(sizeof(Smem)),
                                how.programmatic_launch, kCluster};
  return arch::launch(vdn_delta_factors_128_f32_pair, shape, stream, params);
}

}  // namespace vdn_delta::pair
