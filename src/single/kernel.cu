// SPDX-License-Identifier: Apache-2.0
//
// The single-CTA kernel: one persistent CTA on each SM, matrices m, m + grid, m + 2 grid, ... one behind the other. A
// last wave that fills at most half of the CTAs is shared by pairs of them (share.cuh).
//
//     T = diag(alpha) X     J = b B X     X = (I + a A)^-1
//
// What. B is carried through the same elimination that inverts M = I + a A: the augmented matrix [[M, B^T], [B, 0]] is
// swept over M's 16 blocks of 8 indices, after which M's place holds -X and B's place holds B X. There is no second
// phase for the product, and its work hides the serial chain of pivots. docs/design.md is the long version;
// docs/decisions/0001-elimination-order.md fixes the order of every sum.
//
// Two sweep teams have two matrices in flight, one behind the other; one injection team takes them as they come. What
// waits for what, and why nobody waits in a circle, is in docs/design.md, section 7.
//
// Who owns which block. All of M (its lower triangle) and of b B stays in registers from the way in to the way out:
//
//                 columns c + 16 q                 warps     scheduler
//               +------------------+
//     rows      |  M, lower        |   sweep      4..7, 8..11  0..3  team 0 and 1: matrices 0, 2, ... and 1, 3, ...
//     r + 8 p   |  triangle -> -X  |   pivot      12, 13       0, 1  of team 0 and 1: the 8 x 8 pivot blocks
//               +------------------+   copy       15           3     one thread: A in and T out, by pairs of rows
//     32 rows   |  b B -> J        |   injection  0..3         0..3  matrix after matrix
//     a warp    |                  |                                (16 rows of a shared one)
//               +------------------+
//
// Steps, as numbered in roles.cuh:
//
//   1. exchange  sweep      -X of the team's last matrix leaves for the stage as T, I + a A of its next one enters
//   2. pivot     pivot      S_s = L D L^T of step s, one step ahead: W = L^-1 and 1 / d go to pivot[s % 2]
//   3. solve     sweep      G = C W^T, E = -G D^-1, H = E W, one row a thread; H into the ring
//   4. update    sweep      M_ij += G_i . E_j; then the columns of step s + 1 go to c[(s + 1) % 2]
//   5. inject    injection  takes the columns of block s out of B's rows, B_rj += C_r . H_j; at the end J out, B in
//   6. copy      copy       T out of the stage, then the next A into it, by the copy engine, for team after team
//
// Budget of a CTA, which is that of an SM:
//   threads    512: 8 sweep, 4 injection, 2 pivot warps, 1 copy warp and 1 that ends; four warps on each scheduler
//   registers  128 a thread at the start, then 176 (injection), 136 (sweep), 64 (others)
//   shared     230912 bytes of the 232448 that a CTA can have
//   CTAs       1 on an SM
#include "arch/barrier.cuh"
#include "arch/launch.cuh"
#include "arch/mbarrier.cuh"
#include "arch/registers.cuh"
#include "single/launch.h"
#include "single/roles.cuh"

namespace vdn_delta::single {
namespace {

VDN_DEVICE void run(const Params& params) {
  Smem& smem = arch::dynamic_shared<Smem>();
  const int thread = arch::thread_index();
  // One thread of each warp: the lanes of one warp would initialise one after the other, 60 clocks each.
  static_assert(kThreads / 32 >= kPanels, "one warp for each panel");
  const int warp = thread / 32;
  if (thread % 32 == 0) {
    if (warp < kPanels) {
      arch::mbarrier_init(&smem.h_ready[warp], kHReadyArrivals);
      arch::mbarrier_init(&smem.h_free[warp], kHFreeArrivals);
    }
    if (warp < kInjectWarps) {
      arch::mbarrier_init(&smem.b_ready[warp], kBReadyArrivals);
    } else if (warp < kInjectWarps + kTeams) {
      arch::mbarrier_init(&smem.team[warp - kInjectWarps].panel_ready, kPanelReadyArrivals);
      arch::mbarrier_init(&smem.team[warp - kInjectWarps].a_ready, kAReadyArrivals);
    } else if (warp == kInjectWarps + kTeams) {
      arch::mbarrier_init(&smem.t_ready, kTReadyArrivals);
    }
    arch::mbarrier_fence_init();  // each thread for what it has initialised
  }
  const Share share(params);
  arch::cta_sync();
  arch::wait_for_predecessor();
  constexpr int kFirstOther = kInjectThreads + kTeams * kSweepThreads;
  if (thread < kInjectThreads) {  // 5
    arch::claim_registers<kInjectRegisters>();
    inject_role(smem, params, share, thread / 32, thread % 32);
  } else if (thread < kFirstOther) {  // 1, 3, 4
    arch::claim_registers<kSweepRegisters>();
    sweep_role(smem, params, share, (thread - kInjectThreads) / kSweepThreads, thread % kSweepThreads);
  } else {
    arch::release_registers<kOtherRegisters>();
    if (thread < kFirstOther + kPivotThreads)  // 2
      pivot_role(smem, params, share, (thread - kFirstOther) / 32, thread % 32);
    else if (thread == kThreads - 32)  // 6
      copy_role(smem, params, share);
  }
}

// Code that cannot hand registers over refuses to run, and says so before by the size of a CTA that it was made for.
constexpr int kRefusingThreads = 32;

VDN_KERNEL((arch::kHasRegisterHandover ? kThreads : kRefusingThreads), kCtasPerSm)
vdn_delta_factors_128_f32_single(const Params params) {
  if constexpr (arch::kHasRegisterHandover) {
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
  if (attributes.maxThreadsPerBlock < kThreads) return cudaSuccess;  // the code that refuses: ctas_per_sm is 0
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
