// SPDX-License-Identifier: Apache-2.0
//
// The pair kernel: a matrix on a cluster of two CTAs, for latency; cluster k does the matrices k, k + clusters, ...
//
//     T = diag(alpha) X     J = b B X     X = (I + a A)^-1
//
// What. The elimination of the single kernel, in the same order of every sum (docs/decisions/0001), so with the same
// bits, its two halves on two SMs: the leader sweeps M and pushes each H panel into the partner's shared memory, the
// partner carries B's rows along. Nothing is pulled, and no barrier of the cluster stands inside the loop.
// docs/design.md, section 13, is the long version; docs/sync.md proves each edge between the CTAs, E1 to E8.
//
// Who owns which block. M's lower triangle and b B stay in registers from the way in to the way out:
//
//              columns c + 16 q                      warps         scheduler
//            +------------------+
//   rows     |  M, lower        |   leader   sweep   0..7          0..3, twice  thread (r, c): 36 (r + 16 p, c + 16 q)
//   r + 16 p |  triangle -> -X  |            pivot   8             0            the 8 x 8 pivot blocks
//            +------------------+            panel   9..11 and 13  1, 2, 3, 1   a row of G, E and H each; 12 rests
//   16 rows  |  b B -> J        |   partner  inject  0..7          0..3, twice  lane (h, c): 64 of the warp's 16 rows
//   a warp   |                  |            8..13 rest
//            +------------------+
//
// Steps:
//
//   1. load    sweep   I + a A straight into registers; the columns of step 0 go to c[0]
//   2. pivot   pivot   S_s = L D L^T of step s, one step ahead: W = L^-1 and 1 / d go to pivot[s % 4]
//   3. panel   panel   G = C W^T, E = -G D^-1 into g, e; then H = E W, pushed into the partner's h[s]
//   4. update  sweep   M_ij += G_i . E_j; then the columns of step s + 1 go to c[(s + 1) % 2]
//   5. inject  inject  takes the columns of block s out of B's rows, B_rj += C_r . H_j
//   6. store   sweep   T from -X, its mirrored part through the stage;  inject: J
//
// Timeline of a step; time runs downwards, (id) is what is waited for, [id] what is given:
//
//   CTA 0, the leader                                                         in flight    CTA 1, the partner
//   sweep                   pivot                 panel                                    injection, a warp alone
//   ----------------------  --------------------  --------------------------  -----------  --------------------------
//   [published s]              [pivoted s]          (pivoted s) loads W
//                           (published s)            (published s)                               takes its columns out
//   (solved s)             2 S_s+1 from diag,    3 G_s, E_s -> g, e
//                             c, pivot            [solved s]
//   4 G_s . E_s, 36           L D L^T             (h_free[s], last matrix)    <- arrivals
//     elements a thread       -> pivot[s+1]       3 H_s = E_s W, pushed       -> bytes     (h_ready[s])
//   publishes c[s+1],       [pivoted s+1]        (pivoted s+1) loads W                   5 C_s . H_s, 64 elements
//     diag[s+2]                                                                              a thread, 8 products each
//   [published s+1]            (published s+1)          (published s+1)                             [h_free[s]]
//   (solved s+1) ...       2 S_s+2 ...           3 G_s+1, E_s+1 ...                       takes its columns out ...
//
// Three chains of nearly equal length go round in a step, with 1435 to 1791 clocks of work each at N = 1 (bench
// --timeline, an H200; docs/pair-timeline.svg): form and factor; solve, update and publish; take out, wait and inject.
// Who waits for whom, and why each buffer is free when it is written: smem.h in short, docs/sync.md one by one.
//
// Budget of a CTA:
//   threads    448: in the leader 8 sweep, 1 pivot, 4 panel warps and one that rests; in the partner 8 injection warps
//   registers  122 a thread on sm_90, 128 on sm_100, of 128 (16384 on a scheduler, four warps on two of them)
//   shared     87424 bytes of the 232448 that a CTA can have; leader: stage 66560, c 9216, g and e 8192, ...;
//              partner: h 65536, row 10240; mbarriers 288
//   barriers   36 mbarriers, of which the leader uses 20, the partner 16; the cluster's, twice; none of the CTA
//   CTAs       1 on an SM, by registers
#include "arch/cluster.cuh"
#include "arch/launch.cuh"
#include "pair/launch.h"
#include "pair/roles.cuh"

namespace vdn_delta::pair {
namespace {

static_assert(kClusterSize == 2 && kLeader + kPartner == 1, "a leader and a partner");

VDN_DEVICE void run(const Params& params) {
  Smem& smem = arch::dynamic_shared<Smem>();
  const int thread = arch::thread_index(), warp = thread / 32, lane = thread % 32;
  const int rank = arch::cluster_rank(), cluster = arch::block_index() / kClusterSize;
  const Share share{cluster, arch::block_count() / kClusterSize, static_cast<int>(params.n)};  // n: at most 2^30
  if (lane == 0) init_barriers(smem, rank, warp);
  // The cluster's barrier, twice, each time all threads of both CTAs together: what compute-sanitizer can follow.
  arch::cluster_arrive_relaxed();
  arch::cluster_wait();  // E1, E2; and each CTA's own barriers are there
  arch::wait_for_predecessor();
  if (rank == kPartner) {
    if (warp < kInjectWarps) inject_role(smem, params, share, warp, lane);  // 5, 6
  } else if (warp < kSweepWarps) {                                          // 1, 4, 6
    sweep_role(smem, params, share, thread);
  } else if (warp == kPivotWarp) {  // 2
    pivot_role(smem, params, share, lane);
  } else if (warp != kRestWarp) {  // 3
    panel_role(smem, share, thread - kSweepThreads - kPivotThreads - (warp > kRestWarp ? 32 : 0));
  }
  arch::cluster_arrive_relaxed();
  arch::cluster_wait();  // E7, E8
}

VDN_KERNEL(kThreads, kCtasPerSm) vdn_delta_factors_128_f32_pair(const Params params) {
  if constexpr (arch::kHasClusters) {
    run(params);
  } else {
    arch::refuse();
  }
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
  attribute.val.clusterDim.x = kClusterSize;
  attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(kClusterSize);
  config.blockDim = dim3(kThreads);
  config.dynamicSmemBytes = sizeof(Smem);
  config.attrs = &attribute;
  config.numAttrs = 1;
  return cudaOccupancyMaxActiveClusters(&facts->clusters, vdn_delta_factors_128_f32_pair, &config);
}

cudaError_t launch(const Params& params, const Launch& how, cudaStream_t stream) {
  const arch::LaunchShape shape{how.clusters * kClusterSize, kThreads, static_cast<int>(sizeof(Smem)),
                                how.programmatic_launch, kClusterSize};
  return arch::launch(vdn_delta_factors_128_f32_pair, shape, stream, params);
}

}  // namespace vdn_delta::pair
