// SPDX-License-Identifier: Apache-2.0
//
// The roles of the pair kernel: sweep, pivot and panel in the leader, injection in the partner. Numbers are the steps
// of kernel.cu's timeline, E1 to E8 the edges between the CTAs (docs/sync.md), cited at both ends.
#pragma once

#include <cstdint>

#include "arch/barrier.cuh"
#include "arch/bulk_copy.cuh"
#include "arch/cluster.cuh"
#include "arch/mbarrier.cuh"
#include "pair/config.h"
#include "pair/smem.h"
#include "pair/timeline.cuh"
#include "params.h"
#include "phases/inject.cuh"
#include "phases/pivot.cuh"
#include "phases/square.cuh"
#include "phases/square_pivot.cuh"
#include "phases/square_stage.cuh"

namespace vdn_delta::pair {

VDN_DEVICE std::int64_t matrix_offset(int m) { return static_cast<std::int64_t>(m) * kElements; }

// The matrices of a cluster: first, first + stride, ... below n. At least one.
struct Share {
  int first, stride, n;
};

// One lane of each warp, each for its barriers: the lanes of one would initialise one after the other, 60 clocks each.
VDN_DEVICE void init_barriers(Smem& smem, int rank, int warp) {
  const bool leader = rank == kLeader;
  VDN_UNROLL
  for (int s = warp; s < kSteps; s += kWarps)
    arch::mbarrier_init(leader ? &smem.h_free[s] : &smem.h_ready[s], leader ? kHFreeArrivals : kHReadyArrivals);
  if (leader) {
    if (warp == kWarps - 1) {
      arch::mbarrier_init(&smem.published, kPublishedArrivals);
    } else if (warp == kWarps - 2) {
      arch::mbarrier_init(&smem.pivoted, kPivotedArrivals);
    } else if (warp == kWarps - 3) {
      arch::mbarrier_init(&smem.solved, kSolvedArrivals);
    } else if (warp == kWarps - 4) {
      arch::mbarrier_init(&smem.staged, kStagedArrivals);
    }
  }
  arch::mbarrier_fence_init();  // E1, E2
  if (leader) return;
  VDN_UNROLL
  for (int s = warp; s < kSteps; s += kWarps)
    arch::mbarrier_arrive_expect(&smem.h_ready[s], panel_bytes(s));  // for the first matrix
}

// A -> X -> T.
VDN_DEVICE void sweep_role(Smem& shared, const Params& params, Share share, int thread) {
  LeaderSmem& smem = shared.leader;
  tile::SquareTile tile;
  VDN_NO_UNROLL
  for (int count = 0, m = share.first; m < share.n; ++count, m += share.stride) {
    // 1
    const int parity = count % 2;
    const bool marks = thread == 0 && count == 0;
    mark(marks, kSweepRow, kTimelineBegin);
    if (thread < kDim)
      arch::store_shared(smem.alpha[parity] + thread,
                         arch::load_global(params.alpha + static_cast<std::int64_t>(m) * kDim + thread));
    phases::square_load(tile, phases::SquareThread(thread), params.A + matrix_offset(m), params.a_scale);
    phases::square_publish(tile, phases::SquareThread(thread), 0, smem.c[0], smem.diag[1]);
    mark(marks, kSweepRow, kTimelineLoaded);
    VDN_NO_UNROLL
    for (int s = 0; s < kSteps; ++s) {
      // 4: the update, and the next step's columns.
      arch::mbarrier_arrive(&shared.published);
      arch::mbarrier_wait(&shared.solved, s % 2);
      mark(marks, kSweepRow, kTimelineStep * s);
      phases::square_update(tile, phases::SquareThread(thread), smem.g, smem.e);
      mark(marks, kSweepRow, kTimelineStep * s + 1);
      if (s + 1 < kSteps)
        phases::square_publish(tile, phases::SquareThread(thread), s + 1, smem.c[(s + 1) % 2], smem.diag[s % 2]);
      mark(marks, kSweepRow, kTimelineStep * s + 2);
    }
    // 6
    const bool spoiled = arch::load_shared(&smem.bad[count % kBadRing]) != 0;
    float* T = params.T + matrix_offset(m);
    phases::square_store(tile, phases::SquareThread(thread), spoiled, smem.alpha[parity], smem.stage, T);
    arch::mbarrier_arrive(&shared.staged);
    arch::mbarrier_wait(&shared.staged, parity);
    phases::square_store_mirror(thread / 32, thread % 32, smem.stage, T);
    mark(marks, kSweepRow, kTimelineEnd);
  }
}

// 2: the pivot blocks, one step ahead of the sweep. Whether the pivots are good is found out off the chain, but for the
// last block's: the flag goes with it.
VDN_DEVICE void pivot_role(Smem& shared, const Params& params, Share share, int lane) {
  LeaderSmem& smem = shared.leader;
  VDN_NO_UNROLL
  for (int count = 0, m = share.first; m < share.n; ++count, m += share.stride) {
    int bad = 0;
    const bool marks = lane == 0 && count == 0;
    mark(marks, kPivotRow, kTimelineBegin);
    phases::PivotPair block = phases::pivot_load(lane, params.A + matrix_offset(m), params.a_scale);
    mark(marks, kPivotRow, kTimelineLoaded);
    VDN_NO_UNROLL
    for (int s = 0; s < kSteps; ++s) {
      phases::Pivots pivots;
      phases::pivot_factor(lane, block, pivots, smem.pivot[s % kPivotRing]);
      mark(marks, kPivotRow, kTimelineStep * s);
      if (s + 1 < kSteps) {
        arch::mbarrier_arrive(&shared.pivoted);
        bad = phases::pivot_bad(pivots, kStep * s + 1, bad);
        arch::warp_sync();  // pivot[s] is read by other lanes than have written it
        arch::mbarrier_wait(&shared.published, s % 2);
        mark(marks, kPivotRow, kTimelineStep * s + 1);
        block = phases::square_form(lane, s + 1, smem.diag[(s + 1) % 2], smem.c[s % 2], smem.pivot[s % kPivotRing],
                                    smem.scratch);
        mark(marks, kPivotRow, kTimelineStep * s + 2);
      } else {
        bad = phases::pivot_bad(pivots, kStep * s + 1, bad);
        if (lane == 0) {
          arch::store_shared(&smem.bad[count % kBadRing], bad);
          if (params.info != nullptr) arch::store_global(params.info + m, bad);
        }
        arch::mbarrier_arrive(&shared.pivoted);
        arch::mbarrier_wait(&shared.published, s % 2);
      }
    }
  }
}

// 3: G, E and H of each step, one thread a row, at word `thread` of square_word. H is pushed into the partner's shared
// memory, word by word: each word carries its bytes to h_ready, so that nobody has to gather the panel and no thread
// waits for another one's row.
VDN_DEVICE void panel_role(Smem& shared, Share share, int thread) {
  LeaderSmem& smem = shared.leader;
  const arch::PeerAddress h = arch::peer_address(shared.partner.h, kPartner);
  const arch::PeerAddress ready = arch::peer_address(shared.h_ready, kPartner);
  const arch::PeerAddress peer_bad = arch::peer_address(&shared.partner.bad, kPartner);
  VDN_NO_UNROLL
  for (int count = 0, m = share.first; m < share.n; ++count, m += share.stride) {
    const bool marks = thread == 0 && count == 0;
    mark(marks, kPanelRow, kTimelineBegin);
    VDN_NO_UNROLL
    for (int s = 0; s < kSteps; ++s) {
      arch::mbarrier_wait(&shared.pivoted, s % 2);
      const phases::SquareW w = phases::square_load_w(smem.pivot[s % kPivotRing]);
      arch::mbarrier_arrive(&shared.published);  // so that the pivot warp is never two steps ahead
      arch::mbarrier_wait(&shared.published, s % 2);
      mark(marks, kPanelRow, kTimelineStep * s);
      float c[kStep], g[kStep], e[kStep];
      phases::square_load_row(c, smem.c[s % 2].word + phases::square_row(thread));
      phases::square_solve(c, thread, w, g, e, smem.g, smem.e);
      arch::mbarrier_arrive(&shared.solved);
      mark(marks, kPanelRow, kTimelineStep * s + 1);
      if (count > 0) arch::mbarrier_wait_peer(&shared.h_free[s], (count - 1) % 2);  // E5, E6, E7
      const arch::PeerAddress barrier = ready + s * static_cast<int>(sizeof(std::uint64_t));
      const arch::PeerAddress out = h + (s * kPanelBytes + 4 * (thread ^ 1));  // column_word: square_word ^ 1
      phases::square_h(e, w,
                       [&](int k, float x) { arch::store_peer(out + 4 * phases::kHPitch * k, x, barrier); });  // E3
      if (s + 1 == kSteps && thread == 0)
        arch::store_peer(peer_bad, arch::load_shared(&smem.bad[count % kBadRing]), barrier);  // E4
      mark(marks, kPanelRow, kTimelineStep * s + 2);
    }
  }
}

// 5: B -> J, behind the leader by as much as it likes up to a matrix.
VDN_DEVICE void inject_role(Smem& smem, const Params& params, Share share, int warp, int lane) {
  const arch::PeerAddress free = arch::peer_address(smem.h_free, kLeader);
  const phases::InjectThread me(lane);
  tile::InjectTileOf<kInjectRows / 2> tile;
  VDN_NO_UNROLL
  for (int count = 0, m = share.first; m < share.n; ++count, m += share.stride) {
    const bool more = m + share.stride < share.n;
    bool spoiled = false;
    const bool marks = warp == 0 && lane == 0 && count == 0;
    mark(marks, kInjectRow, kTimelineBegin);
    phases::inject_load(tile, me, params.B + matrix_offset(m) + warp * kInjectRows * kDim, params.b_scale);
    mark(marks, kInjectRow, kTimelineLoaded);
    VDN_NO_UNROLL
    for (int s = 0; s < kSteps; ++s) {
      phases::RowPanelOf<kInjectPitch>& panel = smem.partner.row[warp][s % 2];
      phases::inject_publish(tile, me, s, panel);
      arch::warp_sync();
      mark(marks, kInjectRow, kTimelineStep * s);
      arch::mbarrier_wait_peer(&smem.h_ready[s], count % 2);  // E3, E4, E8
      mark(marks, kInjectRow, kTimelineStep * s + 1);
      if (more && warp == 0 && lane == 0) arch::mbarrier_arrive_expect(&smem.h_ready[s], panel_bytes(s));  // E6
      phases::inject_update_ahead(tile, me, panel, smem.partner.h[s]);
      mark(marks, kInjectRow, kTimelineStep * s + 2);
      if (s + 1 == kSteps) spoiled = arch::load_shared(&smem.partner.bad) != 0;  // E4; before E5 gives it back
      if (more) {
        arch::warp_sync();
        if (lane == 0) arch::mbarrier_arrive_peer(free + s * static_cast<int>(sizeof(std::uint64_t)));  // E5, E7
      }
    }
    if (spoiled) phases::inject_spoil(tile);
    phases::inject_store(tile, me, params.J + matrix_offset(m) + warp * kInjectRows * kDim);
    mark(marks, kInjectRow, kTimelineEnd);
  }
}

}  // namespace vdn_delta::pair
