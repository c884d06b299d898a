// SPDX-License-Identifier: Apache-2.0
//
// The injection as in phases/inject.cuh, with its mathematics, by a tile that turns (tile/turn_tile.cuh).
//
// Scope: 32 rows of B, one warp of four that share B (single), or 16, of eight in two CTAs; warps never wait for one
// another. Reads the H panels, whose columns the sweep has put where the turned tile wants them; writes its own row
// panels and its stage. Entry: b B in the stage; exit: J there; of 16 rows B and J themselves. Cost: 8 x 128 fma for
// each thread and step, or 8 x 64.
#pragma once

#include "arch/barrier.cuh"
#include "arch/bulk_copy.cuh"
#include "arch/vec_mem.cuh"
#include "arch/warp_math.cuh"
#include "phases/panels.h"
#include "shape.h"
#include "tile/turn_tile.cuh"

namespace vdn_delta::phases {

struct TurnThread {
  int h;                                      // which quarter of the rows
  int c;                                      // columns c + 8 q
  VDN_DEVICE explicit TurnThread(int lane) {  // i ^ 1 and i ^ 2: see SweepThread
    const unsigned i = static_cast<unsigned>(lane);
    h = static_cast<int>(i / 2 % 4);
    c = static_cast<int>(i / 8 * 2 + i % 2);
  }
};

// A step's columns, at place 0, are published...
template <int pairs>
VDN_DEVICE void turn_publish(const tile::TurnTileOf<pairs>& tile, TurnThread me, RowPanel& panel) {
  float* out = panel.word + me.c * kRowPitch + me.h * 2 * pairs;
  VDN_UNROLL
  for (int row = 0; row < 2 * pairs; ++row) arch::store_shared(out + row, tile::turn_element(tile, row, 0));
}
// ... and taken out of the warp's rows.
template <int pairs>
VDN_DEVICE void turn_take(tile::TurnTileOf<pairs>& tile) {
  VDN_UNROLL
  for (int u = 0; u < pairs; ++u) tile.acc[0][u] = arch::make_pair(0.0f, 0.0f);
}

// The rows' operands of the first k, which do not wait for H.
template <int pairs>
VDN_DEVICE void turn_rows(tile::TurnOperandsOf<pairs>& x, TurnThread me, const RowPanel& panel) {
  tile::turn_rows(x, panel.word + me.h * 2 * pairs);
}
// The update; `publish` is called as soon as the columns of the next step are at place 0.
template <int pairs, class Publish>
VDN_DEVICE void turn_update(tile::TurnTileOf<pairs>& tile, tile::TurnOperandsOf<pairs>& x, TurnThread me,
                            const RowPanel& panel, const HPanel& h, Publish publish) {
  tile::turn_update<kRowPitch, kHPitch>(tile, x, panel.word + me.h * 2 * pairs, h.word + me.c * 4, publish);
}

// If `out`, puts J into the warp's part of the stage; if `in`, fills the registers with b B from there. Each thread
// takes its own elements of B out before it puts J's in their place.
VDN_DEVICE void turn_exchange(tile::TurnTile& tile, TurnThread me, bool in, bool out, TurnStage& stage, float b_scale) {
  float* mine = stage.word + me.h * kTurnStagePitch + me.c;
  VDN_UNROLL
  for (int q = 0; q < tile::kTurnColumns; ++q) {
    // Opaque, so that the compiler makes one copy of this code and not one for each case.
    const bool load = arch::opaque(in) != 0, store = arch::opaque(out) != 0;
    float m[tile::kTurnRows];
    VDN_UNROLL
    for (int row = 0; row < tile::kTurnRows; ++row)
      m[row] = load ? arch::load_shared(mine + row * kDim + kTurnCycle * q) : 0.0f;
    VDN_UNROLL
    for (int row = 0; row < tile::kTurnRows; ++row)
      arch::store_shared_if(store, mine + row * kDim + kTurnCycle * q, tile::turn_element(tile, row, q));
    VDN_UNROLL
    for (int u = 0; u < tile::kTurnPairs; ++u)
      tile.acc[q][u] = arch::fmul2(b_scale, make_float2(m[2 * u], m[2 * u + 1]));
  }
}

// What a bad pivot makes of the matrix.
template <int pairs>
VDN_DEVICE void turn_spoil(tile::TurnTileOf<pairs>& tile) {
  const arch::Pair nan = arch::make_pair(arch::quiet_nan(), arch::quiet_nan());
  VDN_UNROLL
  for (int q = 0; q < tile::kTurnColumns; ++q) {
    VDN_UNROLL
    for (int u = 0; u < pairs; ++u) tile.acc[q][u] = nan;
  }
}

// b B's rows straight into the registers, and J's straight out, by 4-byte accesses: of the last matrix, behind which
// nothing is to be overlapped. All loads first: one latency for them.
template <int pairs>
VDN_DEVICE void turn_load(tile::TurnTileOf<pairs>& tile, TurnThread me, const float* B, float b_scale) {
  const float* mine = B + me.h * 2 * pairs * kDim + me.c;
  VDN_UNROLL
  for (int q = 0; q < tile::kTurnColumns; ++q) {
    VDN_UNROLL
    for (int u = 0; u < pairs; ++u) {
      const float* at = mine + 2 * u * kDim + kTurnCycle * q;
      tile.acc[q][u] = arch::make_pair(arch::load_global(at), arch::load_global(at + kDim));
    }
  }
  VDN_UNROLL
  for (int q = 0; q < tile::kTurnColumns; ++q) {
    VDN_UNROLL
    for (int u = 0; u < pairs; ++u) tile.acc[q][u] = arch::fmul2(b_scale, arch::pair_values(tile.acc[q][u]));
  }
}
template <int pairs>
VDN_DEVICE void turn_store(const tile::TurnTileOf<pairs>& tile, TurnThread me, float* J) {
  float* mine = J + me.h * 2 * pairs * kDim + me.c;
  VDN_UNROLL
  for (int q = 0; q < tile::kTurnColumns; ++q) {
    VDN_UNROLL
    for (int row = 0; row < 2 * pairs; ++row)
      arch::store_global(mine + row * kDim + kTurnCycle * q, tile::turn_element(tile, row, q));
  }
}

// The copies of a warp's rows: by the copy engine, one thread, 16-byte addresses...
constexpr int kTurnWords = kInjectWarpRows * kDim;
constexpr int kTurnPart = tile::kTurnRows * kDim;  // the rows of one h
VDN_DEVICE void turn_bulk_load(TurnStage& stage, const float* B, arch::Mbarrier* ready) {
  arch::mbarrier_arrive_expect(ready, kTurnWords * 4);
  VDN_UNROLL
  for (int h = 0; h < 4; ++h)
    arch::bulk_load(stage.word + h * kTurnStagePitch, B + h * kTurnPart, kTurnPart * 4, ready);
}
VDN_DEVICE void turn_bulk_store(const TurnStage& stage, float* J) {
  VDN_UNROLL
  for (int h = 0; h < 4; ++h) arch::bulk_store(J + h * kTurnPart, stage.word + h * kTurnStagePitch, kTurnPart * 4);
  arch::bulk_store_commit();
}
// ... or by the warp, four bytes at a time, for any other alignment.
VDN_DEVICE int turn_stage_word(int i) { return i + i / kTurnPart * (kTurnStagePitch - kTurnPart); }
VDN_DEVICE void turn_word_load(int lane, TurnStage& stage, const float* B) {
  VDN_NO_UNROLL
  for (int i = lane; i < kTurnWords; i += 32)
    arch::store_shared(stage.word + turn_stage_word(i), arch::load_global(B + i));
}
VDN_DEVICE void turn_word_store(int lane, const TurnStage& stage, float* J) {
  VDN_NO_UNROLL
  for (int i = lane; i < kTurnWords; i += 32)
    arch::store_global(J + i, arch::load_shared(stage.word + turn_stage_word(i)));
}

}  // namespace vdn_delta::phases
