// SPDX-License-Identifier: Apache-2.0
//
// The single-CTA kernel: one persistent CTA on each SM, matrices m, m + grid, m + 2 grid, ... one behind the other.
//
//     T = diag(alpha) X     J = b B X     X = (I + a A)^-1
//
// What. B is carried through the same elimination that inverts M = I + a A: the augmented matrix [[M, B^T], [B, 0]] is
// swept over M's 16 blocks of 8 indices, after which M's place holds -X and B's place holds B X. There is no second
// phase for the product, and its work hides the serial chain of pivots. docs/design.md is the long version;
// docs/decisions/0001-elimination-order.md fixes the order of every sum.
//
// Who owns which block. All of M (its lower triangle) and of b B stays in registers from the way in to the way out:
//
//                 columns c + 16 q                 warps  scheduler
//               +------------------+
//     rows      |  M, lower        |   sweep      4..7    0..3       thread (r, c): 72 elements (r + 8 p, c + 16 q)
//     r + 8 p   |  triangle -> -X  |   pivot      8..10   0..2       no part of M: the 8 x 8 pivot blocks, by turns
//               +------------------+   copy       11      3          one thread: A in and T out, row by row
//     32 rows   |  b B -> J        |   injection  0..3    0..3       lane (h, c): 128 elements of the warp's 32 rows
//     a warp    |                  |
//               +------------------+
//
// Steps. 1 to 4 are one matrix of the sweep, 5 is the injection's own run through the same matrices, 6 the copies:
//
//   1. exchange  sweep      -X of the last matrix leaves for the stage as T, I + a A of the next one enters
//   2. pivot     pivot      S_s = L D L^T of step s, one step ahead: W = L^-1 and 1 / d go to pivot[s % 2]
//   3. solve     sweep      G = C W^T, E = -G D^-1, H = E W, one row a thread; H into h[s]
//   4. update    sweep      M_ij += G_i . E_j; then the columns of step s + 1 go to c[(s + 1) % 2]
//   5. inject    injection  takes the columns of block s out of B's rows, B_rj += C_r . H_j; at the end J out, B in
//   6. copy      copy       T out of the stage, then the next A into it, by the copy engine
//
// Timeline of two steps; time runs downwards, (id) is what is waited for, [id] what is given:
//
//   injection, a warp               sweep, 128 threads             pivot, by turns              copy, one thread
//   ------------------------------  -----------------------------  ---------------------------  ---------------------
//   any earlier step, up to a       (panel_ready s)                A: [panel_ready s] rests     (t_ready) T rows out,
//   whole matrix behind:            (h_free[s], last matrix)       B: (panel_ready s)           (read) next A rows in
//     takes its columns out         3 H_s -> h[s]                  2 S_s+1 from diag, c, pivot  [a_ready, by bytes]
//     (h_ready[t])                  [h_ready[s]] (solved)            L D L^T -> pivot[s+1]
//   5 C_t . H_t, 128 elements a     4 G_s . E_s, 72 elements a
//     thread, 8 products each         thread, 8 products each      B: [panel_ready s+1] rests
//     [h_free[t]]                     publishes c[s+1], diag[s+2]
//     takes its columns out         (panel_ready s+1)              C: (panel_ready s+1)
//     (h_ready[t+1])                (h_free[s+1])                  2 S_s+2 ...
//   5 C_t+1 . H_t+1 ...             3 H_s+1 -> h[s+1] ...            L D L^T -> pivot[s+2]
//
// Who waits for whom, and why each buffer is free when it is written: smem.h in short, docs/design.md one by one. Every
// wait is for something earlier in the order (matrix, step), so that there is no cycle.
//
// Budget of a CTA, which is that of an SM:
//   threads    384: 4 sweep, 4 injection, 3 pivot warps and 1 copy warp; three warps on each scheduler
//   registers  168 a thread (65536 / 384, down to a multiple of 8): 64512 of the SM's 65536
//   shared     228352 bytes of the 232448 that a CTA can have: h 65536, stages 67584 + 65536, c 8448, row 9216, ...
//   named barriers  0 (the CTA's) and 1; mbarriers 42
//   CTAs       1 on an SM
#include "arch/barrier.cuh"
#include "arch/launch.cuh"
#include "arch/mbarrier.cuh"
#include "single/launch.h"
#include "single/roles.cuh"

namespace vdn_delta::single {
namespace {

VDN_DEVICE void run(const Params& params) {
  Smem& smem = arch::dynamic_shared<Smem>();
  const int thread = arch::thread_index();
  // One thread of each warp: the lanes of one warp would initialise one after the other, 60 clocks each.
  constexpr int kWarps = kThreads / 32;
  static_assert(kWarps >= kInjectWarps + kPivotWarps + 3, "one warp for each of the other barriers");
  const int warp = thread / 32;
  if (thread % 32 == 0) {
    VDN_UNROLL
    for (int i = 0; i < kPanels; i += kWarps) {
      if (i + warp < kPanels) {
        arch::mbarrier_init(&smem.h_ready[i + warp], kHReadyArrivals);
        arch::mbarrier_init(&smem.h_free[i + warp], kHFreeArrivals);
      }
    }
    if (warp < kInjectWarps) {
      arch::mbarrier_init(&smem.b_ready[warp], kBReadyArrivals);
    } else if (warp < kInjectWarps + kPivotWarps) {
      arch::mbarrier_init(&smem.panel_ready[warp - kInjectWarps], kPanelReadyArrivals);
    } else if (warp == kInjectWarps + kPivotWarps) {
      arch::mbarrier_init(&smem.solved, kSolvedArrivals);
    } else if (warp == kInjectWarps + kPivotWarps + 1) {
      arch::mbarrier_init(&smem.a_ready, kAReadyArrivals);
    } else if (warp == kInjectWarps + kPivotWarps + 2) {
      arch::mbarrier_init(&smem.t_ready, kTReadyArrivals);
    }
    arch::mbarrier_fence_init();  // each thread for what it has initialised
  }
  arch::cta_sync();
  arch::wait_for_predecessor();
  if (thread < kInjectThreads) {  // 5
    inject_role(smem, params, thread / 32, thread % 32);
  } else if (thread < kInjectThreads + kSweepThreads) {  // 1, 3, 4
    sweep_role(smem, params, thread - kInjectThreads);
  } else if (thread < kInjectThreads + kSweepThreads + kPivotThreads) {  // 2
    pivot_role(smem, params, (thread - kInjectThreads - kSweepThreads) / 32, thread % 32);
  } else if (thread % 32 == 0) {  // 6
    copy_role(smem, params);
  }
}

VDN_KERNEL(kThreads, kCtasPerSm) vdn_delta_factors_128_f32_single(const Params params) {
  if constexpr (arch::kHasClusters && arch::kHasLargeShared) {
    run(params);
  } else {
    arch::refuse();
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
