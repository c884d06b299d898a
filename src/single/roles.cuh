// SPDX-License-Identifier: Apache-2.0
//
// The two teams of the single-CTA kernel. Each runs through the same matrices on its own, as far ahead as the barriers
// let it.
#pragma once

#include <cstdint>

#include "arch/barrier.cuh"
#include "arch/bulk_copy.cuh"
#include "arch/mbarrier.cuh"
#include "params.h"
#include "phases/inject.cuh"
#include "phases/pivot.cuh"
#include "phases/sweep.cuh"
#include "single/config.h"
#include "single/smem.h"

namespace vdn_delta::single {

VDN_DEVICE std::int64_t matrix_offset(int m) { return static_cast<std::int64_t>(m) * kElements; }

// Bulk copies need 16-byte addresses; anything else goes through the threads' 4-byte accesses, with the same bits.
VDN_DEVICE bool can_bulk_copy(const float* in, const float* out) {
  return ((reinterpret_cast<std::uintptr_t>(in) | reinterpret_cast<std::uintptr_t>(out)) & 15) == 0;
}

// Warps 0 to 3 of the sweep team, one on each scheduler, solve, one row of the panel a thread. Warps 4 to 7 take turns
// at the pivot block of the next step, and warp 4 minds the stage.
constexpr int kSolveWarps = 4;
constexpr int kStageWarp = 4;
VDN_DEVICE bool has_pivot_duty(int warp, int s) { return warp == kSolveWarps + s % (kSweepWarps - kSolveWarps); }

// Factors the block of step `s` and hands it to the team; the last step's block settles the matrix.
VDN_DEVICE void publish_pivot(Smem& smem, const Params& params, int lane, phases::PivotPair block, int s, int m, int* flag) {
  const int before = s == 0 ? 0 : arch::load_shared(flag);
  const int bad = phases::pivot_factor(lane, block, kStep * s + 1, before, smem.pivot[s % 2]);
  if (lane == 0) {
    arch::store_shared(flag, bad);
    if (s == kSteps - 1 && params.info != nullptr) arch::store_global(params.info + m, bad);
  }
}

// Step 2 of kernel.cu's timeline: A -> X -> T.
VDN_DEVICE void sweep_role(Smem& smem, const Params& params, int thread) {
  const int n = static_cast<int>(params.n);  // at most 2^30
  const int stride = arch::block_count();
  const bool bulk = can_bulk_copy(params.A, params.T);
  const int warp = thread / 32;
  tile::SweepTile tile;
  int m = arch::block_index(), count = 0;
  if (has_pivot_duty(warp, kSteps - 1))
    publish_pivot(smem, params, thread % 32, phases::pivot_load(thread % 32, params.A + matrix_offset(m), params.a_scale), 0,
                  m, &smem.bad[0]);
  if (bulk) {
    if (warp == kStageWarp) phases::sweep_stage_load(thread % 32, smem.sweep_stage, params.A + matrix_offset(m), &smem.a_ready);
    arch::mbarrier_wait(&smem.a_ready, 0);
    phases::sweep_unstage(tile, phases::SweepThread(arch::opaque(thread)), smem.sweep_stage, params.a_scale);
    arch::fence_before_bulk_copy();
  } else {
    phases::sweep_load(tile, phases::SweepThread(arch::opaque(thread)), params.A + matrix_offset(m), params.a_scale);
  }
  VDN_NO_UNROLL
  for (;;) {
    const int parity = count % 2;
    const bool more = m + stride < n;
    int* flag = &smem.bad[count % kBadRing];
    if (thread < kDim)
      arch::store_shared(smem.alpha[parity] + thread, arch::load_global(params.alpha + static_cast<std::int64_t>(m) * kDim + thread));
    phases::sweep_publish(tile, phases::SweepThread(arch::opaque(thread)), 0, smem.c[0], smem.diag[1]);
    VDN_NO_UNROLL
    for (int s = 0; s < kSteps; ++s) {
      arch::barrier_sync(kPanelReady, kSweepThreads);
      if (has_pivot_duty(warp, s)) {
        arch::barrier_arrive(kSolved, kSweepThreads);
        const int lane = arch::opaque(thread) % 32;
        if (s + 1 < kSteps) {
          publish_pivot(smem, params, lane,
                        phases::pivot_form(lane, s, smem.diag[(s + 1) % 2], smem.c[s % 2], smem.pivot[s % 2], smem.scratch),
                        s + 1, m, flag);
        } else if (more) {
          publish_pivot(smem, params, lane,
                        phases::pivot_load(lane, params.A + matrix_offset(m + stride), params.a_scale), 0, m + stride,
                        &smem.bad[(count + 1) % kBadRing]);
        }
        arch::mbarrier_wait(&smem.h_ready[s], parity);
      } else {
        if (warp < kSolveWarps) {
          arch::mbarrier_wait(&smem.h_free[s], parity ^ 1);
          phases::sweep_solve(arch::opaque(thread), smem.c[s % 2], smem.pivot[s % 2], smem.h[s]);
        }
        arch::barrier_sync(kSolved, kSweepThreads);
        if (thread == 0) arch::mbarrier_arrive(&smem.h_ready[s]);
      }
      if (s == 1 && bulk && more && warp == kStageWarp) {
        arch::bulk_store_wait_read();
        arch::warp_sync();
        phases::sweep_stage_load(thread % 32, smem.sweep_stage, params.A + matrix_offset(m + stride), &smem.a_ready);
      }
      phases::sweep_update(tile, phases::SweepThread(arch::opaque(thread)), smem.c[s % 2], smem.h[s]);
      if (s + 1 < kSteps)
        phases::sweep_publish(tile, phases::SweepThread(arch::opaque(thread)), s + 1, smem.c[(s + 1) % 2], smem.diag[s % 2]);
    }
    const bool bad = arch::load_shared(flag) != 0;
    const phases::SweepThread me(arch::opaque(thread));
    if (bulk) {
      if (more) arch::mbarrier_wait(&smem.a_ready, parity ^ 1);
      phases::sweep_exchange(tile, me, smem.alpha[parity], bad, smem.sweep_stage, more, params.a_scale);
      arch::fence_before_bulk_copy();
      arch::barrier_sync(kStaged, kSweepThreads);
      if (warp == kStageWarp) phases::sweep_stage_store(thread % 32, smem.sweep_stage, params.T + matrix_offset(m));
    } else {
      phases::sweep_store(tile, me, smem.alpha[parity], bad, params.T + matrix_offset(m));
      if (more) phases::sweep_load(tile, me, params.A + matrix_offset(m + stride), params.a_scale);
    }
    if (!more) break;
    m += stride;
    ++count;
  }
  if (bulk && warp == kStageWarp) arch::bulk_store_wait_read();
}

// Step 3: B -> J, behind the sweep by as much as it likes up to a matrix.
VDN_DEVICE void inject_role(Smem& smem, const Params& params, int thread) {
  const int n = static_cast<int>(params.n);
  const int stride = arch::block_count();
  const bool bulk = can_bulk_copy(params.B, params.J);
  const int warp = thread / 32;
  tile::InjectTile tile;
  int m = arch::block_index(), count = 0;
  if (bulk) {
    if (thread % 32 == 0)
      phases::inject_stage_load(warp, smem.inject_stage, params.B + matrix_offset(m), &smem.b_ready[warp]);
    arch::mbarrier_wait(&smem.b_ready[warp], 0);
    phases::inject_exchange<true, false>(tile, phases::InjectThread(arch::opaque(thread)), false, smem.inject_stage,
                                         params.b_scale);
    arch::fence_before_bulk_copy();
  } else {
    phases::inject_load(tile, phases::InjectThread(arch::opaque(thread)), params.B + matrix_offset(m));
    phases::inject_scale(tile, params.b_scale);
  }
  VDN_NO_UNROLL
  for (;;) {
    const int parity = count % 2;
    const bool more = m + stride < n;
    VDN_NO_UNROLL
    for (int s = 0; s < kSteps; ++s) {
      phases::RowPanel& panel = smem.row[arch::opaque(thread) / 32][s % 2];
      phases::inject_publish(tile, phases::InjectThread(arch::opaque(thread)), s, panel);
      arch::warp_sync();
      if (s == 1 && bulk && more && thread % 32 == 0) {
        arch::bulk_store_wait_read();
        phases::inject_stage_load(warp, smem.inject_stage, params.B + matrix_offset(m + stride), &smem.b_ready[warp]);
      }
      arch::mbarrier_wait(&smem.h_ready[s], parity);
      phases::inject_update(tile, phases::InjectThread(arch::opaque(thread)), panel, smem.h[s]);
      arch::warp_sync();
      if (thread % 32 == 0) arch::mbarrier_arrive(&smem.h_free[s]);
    }
    const bool bad = arch::load_shared(&smem.bad[count % kBadRing]) != 0;
    const phases::InjectThread me(arch::opaque(thread));
    if (bulk) {
      if (more) {
        arch::mbarrier_wait(&smem.b_ready[warp], parity ^ 1);
        phases::inject_exchange<true, true>(tile, me, bad, smem.inject_stage, params.b_scale);
      } else {
        phases::inject_exchange<false, true>(tile, me, bad, smem.inject_stage, params.b_scale);
      }
      arch::fence_before_bulk_copy();
      arch::warp_sync();
      if (thread % 32 == 0) phases::inject_stage_store(warp, smem.inject_stage, params.J + matrix_offset(m));
    } else {
      phases::inject_store(tile, me, bad, params.J + matrix_offset(m));
      if (more) {
        phases::inject_load(tile, me, params.B + matrix_offset(m + stride));
        phases::inject_scale(tile, params.b_scale);
      }
    }
    if (!more) break;
    m += stride;
    ++count;
  }
  if (bulk && thread % 32 == 0) arch::bulk_store_wait_read();
}

}  // namespace vdn_delta::single
