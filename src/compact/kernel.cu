// SPDX-License-Identifier: Apache-2.0
//
// The compact kernel: one persistent CTA on each SM, matrices m, m + grid, m + 2 grid, ... one behind the other. For
// every machine from sm_80 on: it asks for less than 100 KB of shared memory, no cluster and no copy engine. Where the
// others run too, it is the faster one for about as many matrices as there are SMs.
//
//     T = diag(alpha) X     J = b B X     X = (I + a A)^-1
//
// What. The elimination of the other kernels, in the same order of every sum (docs/decisions/0001), so with the same
// bits, by the roles of the pair kernel in one CTA: the serial chain of the pivots is as short as there, and what the
// pair's partner does fills the gaps that the chain leaves. docs/design.md, section 14, is the long version;
// docs/decisions/0009 says why; docs/sync.md argues for each wait.
//
// Who owns which block. M's lower triangle and b B stay in registers from the way in to the way out:
//
//              columns c + 16 q         warps         scheduler
//            +------------------+
//   rows     |  M, lower        |  sweep   0..7       0..3, twice  thread (r, c): 36 elements (r + 16 p, c + 16 q)
//   r + 16 p |  triangle -> -X  |  pivot   16         0            the 8 x 8 pivot blocks
//            +------------------+  panel   17, 18     1, 2         two rows of G, E and H a thread; 19 ends at once
//   16 rows  |  b B -> J        |  inject  8..15      0..3, twice  lane (h, c): 64 elements of the warp's 16 rows
//   a warp   |                  |
//            +------------------+
//
// Steps:
//
//   1. load    sweep   I + a A straight into registers; the columns of step 0 go to c[0]
//   2. pivot   pivot   S_s = L D L^T of step s, one step ahead: W = L^-1 and 1 / d go to pivot
//   3. panel   panel   G = C W^T, E = -G D^-1 into g, e; then H = E W into h[s % 8]
//   4. update  sweep   M_ij += G_i . E_j; then the columns of step s + 1 go to c[(s + 1) % 2]
//   5. inject  inject  takes the columns of block s out of B's rows, B_rj += C_r . H_j
//   6. store   sweep   T from -X, its mirrored part through the stage, half by half;  inject: J
//
// Timeline of a step; time runs downwards, (id) is what is waited for, [id] what is given:
//
//   sweep, 256 threads      pivot, a warp         panel, 64 threads           injection, a warp alone
//   ----------------------  --------------------  --------------------------  ------------------------------
//   [published s]              [pivoted s]          (pivoted s) loads W       any earlier step, up to a turn
//                                                    [published s]            of the ring behind:
//   (solved s)              (published s)            (published s)              takes its columns out
//                         2 S_s+1 from diag,      3 G_s, E_s -> g, e            (h_ready[t % 8])
//   4 G_s . E_s, 36          c, pivot                [solved s]               5 C_t . H_t, 64 elements a
//     elements a thread       L D L^T                (h_free, last turn)          thread, 8 products each
//   publishes c[s+1],         -> pivot            3 H_s = E_s W -> h[s % 8]     [h_free[t % 8]]
//     diag[s+2]             [pivoted s+1]            [h_ready[s % 8]]           takes its columns out
//   [published s+1]                                 (pivoted s+1) loads W       (h_ready[(t+1) % 8])
//   (solved s+1) ...        (published s+1) ...      ...                      5 C_t+1 . H_t+1 ...
//
// Who waits for whom, and why each buffer is free when it is written: smem.h in short, docs/sync.md one by one. Every
// wait is for something earlier in the order (matrix, step), so that there is no cycle.
//
// Budget of a CTA, which is that of an SM:
//   threads    640: 8 sweep, 8 injection, 1 pivot and 2 panel warps, and one that ends at once
//   registers  96 a thread (65536 / 640, down to a multiple of 8): the updates are loops of one k, which fit
//   shared     95616 bytes of the 101376 that a CTA can have on sm_86, sm_89 and sm_120: stage 33280, h 32768,
//              row 10240, c 9216, g and e 8192, ...
//   barriers   20 mbarriers; the CTA's own, once
//   CTAs       1 on an SM, by registers
#include "arch/barrier.cuh"
#include "arch/launch.cuh"
#include "compact/launch.h"
#include "compact/roles.cuh"

namespace vdn_delta::compact {
namespace {

VDN_KERNEL(kThreads, kCtasPerSm) vdn_delta_factors_128_f32_compact(const Params params) {
  Smem& smem = arch::dynamic_shared<Smem>();
  const int thread = arch::thread_index(), warp = thread / 32, lane = thread % 32;
  const Share share{arch::block_index(), arch::block_count(), static_cast<int>(params.n)};  // n: at most 2^30
  if (lane == 0) init_barriers(smem, warp);
  arch::cta_sync();
  arch::wait_for_predecessor();
  if (warp < kInjectWarp) {  // 1, 4, 6
    sweep_role(smem, params, share, thread);
  } else if (warp < kPivotWarp) {  // 5, 6
    inject_role(smem, params, share, warp - kInjectWarp, lane);
  } else if (warp < kPanelWarp) {  // 2
    pivot_role(smem, params, share, lane);
  } else if (warp < kRestWarp) {  // 3
    panel_role(smem, share, 32 * (warp - kPanelWarp) + lane);
  }
}

}  // namespace

cudaError_t prepare(KernelFacts* facts) {
  *facts = KernelFacts{kThreads, static_cast<int>(sizeof(Smem)), 0, 0};
  cudaFuncAttributes attributes;
  cudaError_t error = cudaFuncGetAttributes(&attributes, vdn_delta_factors_128_f32_compact);
  if (error != cudaSuccess) return error;
  facts->registers = attributes.numRegs;
  error = cudaFuncSetAttribute(vdn_delta_factors_128_f32_compact, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               facts->shared_bytes);
  if (error != cudaSuccess) return error;
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(&facts->ctas_per_sm, vdn_delta_factors_128_f32_compact, kThreads,
                                                       sizeof(Smem));
}

cudaError_t launch(const Params& params, const Launch& how, cudaStream_t stream) {
  const arch::LaunchShape shape{how.grid, kThreads, static_cast<int>(sizeof(Smem)), how.programmatic_launch};
  return arch::launch(vdn_delta_factors_128_f32_compact, shape, stream, params);
}

}  // namespace vdn_delta::compact
