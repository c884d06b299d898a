// SPDX-License-Identifier: Apache-2.0
//
// The four roles of the single-CTA kernel. Each runs through the same matrices on its own, as far ahead as the
// barriers let it. Numbers are the steps of kernel.cu's timeline.
#pragma once

#include <cstdint>

#include "arch/barrier.cuh"
#include "arch/bulk_copy.cuh"
#include "arch/mbarrier.cuh"
#include "params.h"
#include "phases/inject.cuh"
#include "phases/pivot.cuh"
#include "phases/sweep.cuh"
#include "phases/sweep_stage.cuh"
#include "single/config.h"
#include "single/smem.h"

namespace vdn_delta::single {

VDN_DEVICE std::int64_t matrix_offset(int m) { return static_cast<std::int64_t>(m) * kElements; }

// Bulk copies need 16-byte addresses; anything else goes through the threads' 4-byte accesses, with the same bits.
VDN_DEVICE bool can_bulk_copy(const float* in, const float* out) {
  return ((reinterpret_cast<std::uintptr_t>(in) | reinterpret_cast<std::uintptr_t>(out)) & 15) == 0;
}

// A -> X -> T.
VDN_DEVICE void sweep_role(Smem& smem, const Params& params, int thread) {
  const int n = static_cast<int>(params.n);  // at most 2^30
  const bool bulk = can_bulk_copy(params.A, params.T);
  tile::SweepTile tile;
  if (bulk && thread % 32 == 0) {  // the first A: nothing else is to be done yet, so all four warps copy
    if (thread == 0) arch::mbarrier_arrive_expect(&smem.a_ready, phases::kSweepBytes);
    phases::sweep_bulk_load(smem.sweep_stage, params.A + matrix_offset(arch::block_index()), thread / 32, kSweepWarps,
                            &smem.a_ready);
  }
  arch::warp_sync();              // together again
  int turn = 0, turn_parity = 0;  // of the pivot warps
  VDN_NO_UNROLL
  for (int count = 0, m = arch::block_index();; ++count, m += arch::block_count()) {
    // 1: take A in, and put T of the matrix before out.
    const bool in = m < n, out = count > 0;
    const int parity = count % 2;
    if (in) {
      arch::store_shared(smem.alpha[parity] + thread,
                         arch::load_global(params.alpha + static_cast<std::int64_t>(m) * kDim + thread));
      if (!bulk) {
        phases::sweep_word_load(thread, smem.sweep_stage, params.A + matrix_offset(m));
        arch::barrier_sync<kStaged, kStagedThreads>();
      }
    }
    if (bulk) arch::mbarrier_wait(&smem.a_ready, parity);
    if (out && arch::load_shared(&smem.bad[(count - 1) % kBadRing]) != 0) phases::sweep_spoil(tile);
    phases::sweep_exchange(tile, phases::SweepThread(arch::opaque(thread)), in, out, smem.alpha[parity ^ 1],
                           smem.sweep_stage, params.a_scale);
    if (bulk && in) {
      arch::fence_before_bulk_copy();
      arch::mbarrier_arrive(&smem.t_ready);
    } else if (bulk) {  // the last T: nothing else is left to do, so all four warps copy
      arch::fence_before_bulk_copy();
      arch::barrier_sync<kStaged, kStagedThreads>();
      if (thread % 32 == 0) {
        phases::sweep_bulk_store(smem.sweep_stage, params.T + matrix_offset(m - arch::block_count()), thread / 32,
                                 kSweepWarps);
        arch::bulk_store_wait_read();
      }
    } else if (out) {
      arch::barrier_sync<kStaged, kStagedThreads>();
      phases::sweep_word_store(thread, smem.sweep_stage, params.T + matrix_offset(m - arch::block_count()));
      arch::barrier_sync<kStaged, kStagedThreads>();
    }
    if (!in) break;
    phases::sweep_publish(tile, phases::SweepThread(arch::opaque(thread)), 0, smem.c[0], smem.diag[1]);
    VDN_NO_UNROLL
    for (int s = 0; s < kSteps; ++s) {
      // 3: G and E of the step for the team, H for the injection.
      arch::mbarrier_arrive(&smem.panel_ready[turn]);
      arch::mbarrier_wait(&smem.panel_ready[turn], turn_parity);
      turn = turn + 1 == kPivotWarps ? 0 : turn + 1;
      turn_parity ^= turn == 0;
      phases::SweepSolve x;
      phases::sweep_solve(x, arch::opaque(thread), smem.c[s % 2], smem.pivot[s % 2], smem.g, smem.e);
      arch::mbarrier_arrive(&smem.solved);
      arch::mbarrier_wait(&smem.h_free[s], parity ^ 1);
      phases::sweep_solve_h(x, arch::opaque(thread), smem.h[s]);
      arch::mbarrier_arrive(&smem.h_ready[s]);
      // 4: the update, and the next step's columns.
      arch::mbarrier_wait(&smem.solved, s % 2);  // kSteps is even: the parity of the step is that of the phase
      phases::sweep_update(tile, phases::SweepThread(arch::opaque(thread)), smem.g, smem.e);
      if (s + 1 < kSteps)
        phases::sweep_publish(tile, phases::SweepThread(arch::opaque(thread)), s + 1, smem.c[(s + 1) % 2],
                              smem.diag[s % 2]);
    }
  }
}

// 6: A into the sweep's stage and T out of it, one thread. Nothing to do where the copy engine cannot be used.
VDN_DEVICE void copy_role(Smem& smem, const Params& params) {
  const int n = static_cast<int>(params.n);
  if (!can_bulk_copy(params.A, params.T)) return;
  VDN_NO_UNROLL
  for (int count = 0, m = arch::block_index(); m < n; ++count, m += arch::block_count()) {
    arch::mbarrier_wait(&smem.t_ready, count % 2);  // A of m is out of the stage, T of the matrix before m is in it
    if (count > 0) {
      phases::sweep_bulk_store(smem.sweep_stage, params.T + matrix_offset(m - arch::block_count()), 0, 1);
      arch::bulk_store_wait_read();
    }
    if (m + arch::block_count() < n) {
      arch::mbarrier_arrive_expect(&smem.a_ready, phases::kSweepBytes);
      phases::sweep_bulk_load(smem.sweep_stage, params.A + matrix_offset(m + arch::block_count()), 0, 1, &smem.a_ready);
    } else {
      arch::mbarrier_arrive(&smem.a_ready);  // no more input, but the stage is free for the last T
    }
  }
}

// 2: the pivot blocks, one step ahead of the sweep team. The warps take turns, each on its own scheduler: what the last
// one leaves, panel_ready hands over, and the next one goes on from it.
VDN_DEVICE void pivot_role(Smem& smem, const Params& params, int warp, int lane) {
  const int n = static_cast<int>(params.n);
  const int first = arch::block_index(), stride = arch::block_count();
  const int total = kSteps * ((n - first + stride - 1) / stride);  // steps of all matrices of this CTA
  VDN_NO_UNROLL
  for (int turn = warp; turn < total; turn += kPivotWarps) {
    if (turn > 0) arch::mbarrier_wait(&smem.panel_ready[(turn - 1) % kPivotWarps], (turn - 1) / kPivotWarps % 2);
    const int s = turn % kSteps, count = turn / kSteps;
    const int m = first + count * stride;
    int* flag = &smem.bad[count % kBadRing];
    int bad = 0;
    phases::PivotPair block;
    if (s == 0) {
      block = phases::pivot_load(lane, params.A + matrix_offset(m), params.a_scale);
    } else {
      bad = arch::load_shared(flag);
      block = phases::pivot_form(lane, s, smem.diag[s % 2], smem.c[(s - 1) % 2], smem.pivot[(s - 1) % 2],
                                 smem.scratch[warp]);
    }
    bad = phases::pivot_factor(lane, block, kStep * s + 1, bad, smem.pivot[s % 2]);
    if (lane == 0) {
      arch::store_shared(flag, bad);
      if (s + 1 == kSteps && params.info != nullptr) arch::store_global(params.info + m, bad);
    }
    arch::mbarrier_arrive(&smem.panel_ready[warp]);
  }
}

// 5: B -> J, behind the sweep by as much as it likes up to a matrix.
VDN_DEVICE void inject_role(Smem& smem, const Params& params, int warp, int lane) {
  const int n = static_cast<int>(params.n);
  const bool bulk = can_bulk_copy(params.B, params.J);
  float* stage = smem.inject_stage.word + warp * phases::kInjectWords;
  tile::InjectTile tile;
  if (bulk && lane == 0)
    phases::inject_bulk_load(stage, params.B + matrix_offset(arch::block_index()) + warp * phases::kInjectWords,
                             &smem.b_ready[warp]);
  VDN_NO_UNROLL
  for (int count = 0, m = arch::block_index();; ++count, m += arch::block_count()) {
    const bool in = m < n, out = count > 0;
    const int parity = count % 2;
    if (in) {
      if (bulk) {
        arch::mbarrier_wait(&smem.b_ready[warp], parity);
      } else {
        phases::inject_word_load(lane, stage, params.B + matrix_offset(m) + warp * phases::kInjectWords);
        arch::warp_sync();
      }
    }
    if (out && arch::load_shared(&smem.bad[(count - 1) % kBadRing]) != 0) phases::inject_spoil(tile);
    phases::inject_exchange(tile, phases::InjectThread(arch::opaque(lane)), in, out, stage, params.b_scale);
    arch::fence_before_bulk_copy();
    arch::warp_sync();
    if (out) {
      float* J = params.J + matrix_offset(m - arch::block_count()) + warp * phases::kInjectWords;
      if (!bulk) {
        phases::inject_word_store(lane, stage, J);
        arch::warp_sync();
      } else if (lane == 0) {
        phases::inject_bulk_store(stage, J);
      }
    }
    if (!in) break;
    VDN_NO_UNROLL
    for (int s = 0; s < kSteps; ++s) {
      phases::RowPanel& panel = smem.row[warp][s % 2];
      phases::inject_publish(tile, phases::InjectThread(arch::opaque(lane)), s, panel);
      arch::warp_sync();
      if (s == kPrefetchStep && bulk && lane == 0) {
        arch::bulk_store_wait_read();  // frees the stage for the next B, or for the last J
        if (m + arch::block_count() < n)
          phases::inject_bulk_load(stage,
                                   params.B + matrix_offset(m + arch::block_count()) + warp * phases::kInjectWords,
                                   &smem.b_ready[warp]);
      }
      arch::mbarrier_wait(&smem.h_ready[s], parity);
      phases::inject_update(tile, phases::InjectThread(arch::opaque(lane)), panel, smem.h[s]);
      arch::mbarrier_arrive(&smem.h_free[s]);
    }
  }
  if (bulk && lane == 0) arch::bulk_store_wait_read();
}

}  // namespace vdn_delta::single
