// SPDX-License-Identifier: Apache-2.0
//
// The roles of the compact kernel: sweep, pivot, panel and injection, those of the pair kernel in one CTA. Numbers are
// the steps of kernel.cu's timeline; docs/sync.md says of each wait what it is for.
#pragma once

#include <cstdint>

#include "arch/barrier.cuh"
#include "arch/mbarrier.cuh"
#include "compact/config.h"
#include "compact/smem.h"
#include "params.h"
#include "phases/inject.cuh"
#include "phases/pivot.cuh"
#include "phases/square.cuh"
#include "phases/square_pivot.cuh"
#include "phases/square_stage.cuh"

namespace vdn_delta::compact {

VDN_DEVICE std::int64_t matrix_offset(int m) { return static_cast<std::int64_t>(m) * kElements; }

// The matrices of a CTA: first, first + stride, ... below n. At least one.
struct Share {
  int first, stride, n;
};

// One lane of each warp, each for its barriers: the lanes of one would initialise one after the other, 60 clocks each.
VDN_DEVICE void init_barriers(Smem& smem, int warp) {
  static_assert(kWarps == 2 * kPanels + 4, "one warp for each barrier");
  if (warp < kPanels) {
    arch::mbarrier_init(&smem.h_ready[warp], kHReadyArrivals);
  } else if (warp < 2 * kPanels) {
    arch::mbarrier_init(&smem.h_free[warp - kPanels], kHFreeArrivals);
  } else if (warp == 2 * kPanels) {
    arch::mbarrier_init(&smem.published, kPublishedArrivals);
  } else if (warp == 2 * kPanels + 1) {
    arch::mbarrier_init(&smem.pivoted, kPivotedArrivals);
  } else if (warp == 2 * kPanels + 2) {
    arch::mbarrier_init(&smem.solved, kSolvedArrivals);
  } else {
    arch::mbarrier_init(&smem.staged, kStagedArrivals);
  }
  arch::mbarrier_fence_init();
}

// A -> X -> T.
VDN_DEVICE void sweep_role(Smem& smem, const Params& params, Share share, int thread) {
  tile::SquareTile tile;
  VDN_NO_UNROLL
  for (int count = 0, m = share.first; m < share.n; ++count, m += share.stride) {
    // 1
    if (thread < kDim)
      arch::store_shared(smem.alpha + thread, arch::load_global(params.alpha + static_cast<std::int64_t>(m) * kDim +
                                                                static_cast<unsigned>(thread)));
    phases::square_load(tile, phases::SquareThread(thread), params.A + matrix_offset(m), params.a_scale);
    phases::square_publish(tile, phases::SquareThread(thread), 0, smem.c[0], smem.diag[1]);
    VDN_NO_UNROLL
    for (int s = 0; s < kSteps; ++s) {
      // 4: the update, and the next step's columns.
      arch::mbarrier_arrive(&smem.published);
      arch::mbarrier_wait(&smem.solved, s % 2);
      phases::square_update<kUpdateUnroll>(tile, phases::SquareThread(thread), smem.g, smem.e);
      if (s + 1 < kSteps)
        phases::square_publish(tile, phases::SquareThread(thread), s + 1, smem.c[(s + 1) % 2], smem.diag[s % 2]);
    }
    // 6: half by half, since the stage holds no more.
    const bool spoiled = arch::load_shared(&smem.bad) != 0;
    float* T = params.T + matrix_offset(m);
    const auto pass_staged = [&](int round) {
      arch::mbarrier_arrive(&smem.staged);
      arch::mbarrier_wait(&smem.staged, (count + round) % 2);
    };
    phases::square_store<0, kStageRows>(tile, phases::SquareThread(thread), spoiled, smem.alpha, smem.stage, T);
    pass_staged(0);
    phases::square_store_mirror<0>(thread / 32, thread % 32, smem.stage, T);
    pass_staged(1);
    phases::square_store<kStageRows, kDim>(tile, phases::SquareThread(thread), spoiled, smem.alpha, smem.stage, T);
    pass_staged(2);
    phases::square_store_mirror<kStageRows>(thread / 32, thread % 32, smem.stage, T);
  }
}

// 2: the pivot blocks, one step ahead of the sweep. Whether the pivots are good is found out off the chain, but for the
// last block's: the flag goes with it.
VDN_DEVICE void pivot_role(Smem& smem, const Params& params, Share share, int lane) {
  VDN_NO_UNROLL
  for (int m = share.first; m < share.n; m += share.stride) {
    int bad = 0;
    phases::PivotPair block = phases::pivot_load(lane, params.A + matrix_offset(m), params.a_scale);
    VDN_NO_UNROLL
    for (int s = 0; s < kSteps; ++s) {
      phases::Pivots pivots;
      phases::pivot_factor(lane, block, pivots, smem.pivot);
      if (s + 1 < kSteps) {
        arch::mbarrier_arrive(&smem.pivoted);
        bad = phases::pivot_bad(pivots, kStep * s + 1, bad);
        arch::mbarrier_wait(&smem.published, s % 2);
        block = phases::square_form(lane, s + 1, smem.diag[(s + 1) % 2], smem.c[s % 2], smem.pivot, smem.scratch);
      } else {
        bad = phases::pivot_bad(pivots, kStep * s + 1, bad);
        if (lane == 0) {
          arch::store_shared(&smem.bad, bad);
          if (params.info != nullptr) arch::store_global(params.info + m, bad);
        }
        arch::mbarrier_arrive(&smem.pivoted);
        arch::mbarrier_wait(&smem.published, s % 2);
      }
    }
  }
}

// 3: G, E and H of each step, two rows a thread, at the words `thread` and `thread + 64` of square_word. The sweep,
// which waits for G and E, gets both rows' before H is made of them.
VDN_DEVICE void panel_role(Smem& smem, Share share, int thread) {
  VDN_NO_UNROLL
  for (int m = share.first; m < share.n; m += share.stride) {
    VDN_NO_UNROLL
    for (int s = 0; s < kSteps; ++s) {
      arch::mbarrier_wait(&smem.pivoted, s % 2);
      const phases::SquareW w = phases::square_load_w(smem.pivot);
      arch::mbarrier_arrive(&smem.published);  // so that the pivot warp is never two steps ahead
      arch::mbarrier_wait(&smem.published, s % 2);
      float e[kPanelRows][kStep];
      VDN_UNROLL
      for (int i = 0; i < kPanelRows; ++i) {
        const int word = thread + kPanelThreads * i;
        float c[kStep], g[kStep];
        phases::square_load_row(c, smem.c[s % 2].word + phases::square_row(word));
        phases::square_solve(c, word, w, g, e[i], smem.g, smem.e);
      }
      arch::mbarrier_arrive(&smem.solved);
      const int place = s % kPanels;
      arch::mbarrier_wait(&smem.h_free[place], (s / kPanels + 1) % 2);  // of the turn before; the first one is free
      VDN_UNROLL
      for (int i = 0; i < kPanelRows; ++i) {
        float* out = smem.h[place].word + ((thread + kPanelThreads * i) ^ 1);  // column_word: square_word ^ 1
        phases::square_h(e[i], w, [&](int k, float x) { arch::store_shared(out + phases::kHPitch * k, x); });
      }
      arch::mbarrier_arrive(&smem.h_ready[place]);
    }
  }
}

// 5: B -> J, behind the sweep by as much as it likes up to a turn of the ring.
VDN_DEVICE void inject_role(Smem& smem, const Params& params, Share share, int warp, int lane) {
  const phases::InjectThread me(lane);
  tile::InjectTileOf<kInjectRows / 2> tile;
  VDN_NO_UNROLL
  for (int m = share.first; m < share.n; m += share.stride) {
    phases::inject_load(tile, me, params.B + matrix_offset(m) + warp * kInjectRows * kDim, params.b_scale);
    VDN_NO_UNROLL
    for (int s = 0; s < kSteps; ++s) {
      phases::RowPanelOf<kInjectPitch>& panel = smem.row[warp][s % 2];
      phases::inject_publish(tile, me, s, panel);
      arch::warp_sync();
      const int place = s % kPanels;
      arch::mbarrier_wait(&smem.h_ready[place], s / kPanels % 2);
      phases::inject_update_columns<kUpdateUnroll>(tile, me, panel, smem.h[place]);
      arch::mbarrier_arrive(&smem.h_free[place]);
    }
    if (arch::load_shared(&smem.bad) != 0) phases::inject_spoil(tile);
    phases::inject_store(tile, me, params.J + matrix_offset(m) + warp * kInjectRows * kDim);
  }
}

}  // namespace vdn_delta::compact
