// SPDX-License-Identifier: Apache-2.0
//
// The three roles of the single-CTA kernel. Each runs through the same matrices on its own, as far ahead as the barriers
// let it.
#pragma once

#include "arch/barrier.cuh"
#include "arch/mbarrier.cuh"
#include "params.h"
#include "phases/inject.cuh"
#include "phases/pivot.cuh"
#include "phases/sweep.cuh"
#include "single/config.h"
#include "single/smem.h"

namespace vdn_delta::single {

// Four of the eight sweep warps solve, one row of the panel a thread. The pivot warp is warp 16 and shares scheduler
// 16 % 4 = 0 with warps 0 and 4, which therefore do not solve.
VDN_DEVICE int solve_slot(int warp) {
  switch (warp) {
    case 1: return 0;
    case 2: return 1;
    case 3: return 2;
    case 5: return 3;
    default: return -1;
  }
}

VDN_DEVICE std::int64_t matrix_offset(int m) { return static_cast<std::int64_t>(m) * kElements; }

// Step 3 of kernel.cu's timeline: A -> X -> T.
VDN_DEVICE void sweep_role(Smem& smem, const Params& params, int thread) {
    tile::SweepTile tile;
  const int n = static_cast<int>(params.n);  // at most 2^30
  int parity = 0;
  VDN_NO_UNROLL
  for (int m = arch::block_index(); m < n; m += arch::block_count(), parity ^= 1) {
    phases::sweep_load(tile, phases::SweepThread(arch::opaque(thread)), params.A + matrix_offset(m), params.a_scale);
    if (thread < kDim) arch::store_shared(smem.alpha[parity] + thread, arch::load_global(params.alpha + static_cast<std::int64_t>(m) * kDim + thread));
    phases::sweep_publish(tile, phases::SweepThread(arch::opaque(thread)), 0, smem.c[0], smem.diag[1]);
    if (m + arch::block_count() < n)
      phases::sweep_prefetch(thread, params.A + matrix_offset(m + arch::block_count()));
    VDN_NO_UNROLL
    for (int s = 0; s < kSteps; ++s) {
      arch::barrier_sync(kPanelReady, kPanelReadyThreads);
      const int slot = solve_slot(arch::opaque(thread) / 32);
      if (slot >= 0) {
        arch::mbarrier_wait(&smem.h_free[s], parity ^ 1);
        phases::sweep_solve(slot * 32 + thread % 32, smem.c[s % 2], smem.pivot[s % 2], smem.h[s]);
      }
      arch::barrier_sync(kSolved, kSolvedThreads);
      if (thread == 0) arch::mbarrier_arrive(&smem.h_ready[s]);
      phases::sweep_update(tile, phases::SweepThread(arch::opaque(thread)), smem.c[s % 2], smem.h[s]);
      if (s + 1 < kSteps) phases::sweep_publish(tile, phases::SweepThread(arch::opaque(thread)), s + 1, smem.c[(s + 1) % 2], smem.diag[s % 2]);
    }
    phases::sweep_store(tile, phases::SweepThread(arch::opaque(thread)), smem.alpha[parity], arch::load_shared(&smem.bad[parity]) != 0, params.T + matrix_offset(m));
  }
}

// Step 2: the pivot blocks, one step ahead of the sweep team.
VDN_DEVICE void pivot_role(Smem& smem, const Params& params, int lane) {
  const int n = static_cast<int>(params.n);  // at most 2^30
  int parity = 0;
  VDN_NO_UNROLL
  for (int m = arch::block_index(); m < n; m += arch::block_count(), parity ^= 1) {
    phases::PivotPair block = phases::pivot_load(lane, params.A + matrix_offset(m), params.a_scale);
    int bad = 0;
    VDN_NO_UNROLL
    for (int s = 0; s < kSteps; ++s) {
      bad = phases::pivot_factor(lane, block, kStep * s + 1, bad, smem.pivot[s % 2]);
      if (s + 1 == kSteps && lane == 0) {
        arch::store_shared(&smem.bad[parity], bad);
        if (params.info != nullptr) arch::store_global(params.info + m, bad);
      }
      arch::barrier_sync(kPanelReady, kPanelReadyThreads);
      if (s + 1 < kSteps)
        block = phases::pivot_form(lane, s, smem.diag[(s + 1) % 2], smem.c[s % 2], smem.pivot[s % 2], smem.scratch);
    }
  }
}

// Step 4: B -> J, behind the sweep by as much as it likes up to a matrix.
VDN_DEVICE void inject_role(Smem& smem, const Params& params, int thread) {
  tile::InjectTile tile;
  const int n = static_cast<int>(params.n);  // at most 2^30
  int parity = 0;
  VDN_NO_UNROLL
  for (int m = arch::block_index(); m < n; m += arch::block_count(), parity ^= 1) {
    phases::inject_load(tile, phases::InjectThread(arch::opaque(thread)), params.B + matrix_offset(m));
    phases::inject_scale(tile, params.b_scale);
    if (m + arch::block_count() < n)
      phases::inject_prefetch(thread, params.B + matrix_offset(m + arch::block_count()));
    VDN_NO_UNROLL
    for (int s = 0; s < kSteps; ++s) {
      phases::RowPanel& panel = smem.row[arch::opaque(thread) / 32][s % 2];
      phases::inject_publish(tile, phases::InjectThread(arch::opaque(thread)), s, panel);
      arch::warp_sync();
      arch::mbarrier_wait(&smem.h_ready[s], parity);
      phases::inject_update(tile, phases::InjectThread(arch::opaque(thread)), panel, smem.h[s]);
      arch::warp_sync();
      if (thread % 32 == 0) arch::mbarrier_arrive(&smem.h_free[s]);
    }
    phases::inject_store(tile, phases::InjectThread(arch::opaque(thread)), arch::load_shared(&smem.bad[parity]) != 0, params.J + matrix_offset(m));
  }
}

}  // namespace vdn_delta::single
