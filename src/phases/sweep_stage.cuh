// SPDX-License-Identifier: Apache-2.0
//
// The sweep team's way in and out: A from global memory through a stage in shared memory into registers, and -X from
// there through the same stage to T = diag(alpha) X.
//
// Scope: one matrix; the exchange is called by all threads of the team, the copies as they say. The stage holds the
// lower triangle of the next A, then T. Only the lower triangle of A reaches a result.
#pragma once

#include "arch/barrier.cuh"
#include "arch/bulk_copy.cuh"
#include "arch/vec_mem.cuh"
#include "arch/warp_math.cuh"
#include "phases/panels.h"
#include "phases/sweep.cuh"
#include "shape.h"
#include "tile/sweep_tile.cuh"

namespace vdn_delta::phases {

constexpr int sweep_row_words(int row) {
  return (row / kColumnCycle + 1) * kColumnCycle;
}  // up to the end of the diagonal's block

// If `out`, puts T = diag(alpha) X into the stage; fills the registers with I + a A from it, or, if A is not there,
// with anything. Each thread takes its own elements of A out before it puts T's in their place; T's upper triangle
// falls on words that nobody reads.
VDN_DEVICE void sweep_exchange(tile::SweepTile& tile, SweepThread me, bool out, const float* alpha, SweepStage& stage,
                               float a_scale) {
  // Eight rows are four pieces, so that a thread's elements are at constant distances.
  float* row = stage.word + sweep_stage_word(me.r, me.c);
  float* column = stage.word + sweep_stage_word(me.c, me.r);
  float alpha_j[kColumns];
  VDN_UNROLL
  for (int q = 0; q < kColumns; ++q) alpha_j[q] = out ? -arch::load_shared(alpha + me.c + kColumnCycle * q) : 0.0f;
  VDN_UNROLL
  for (int p = 0; p < kRows; ++p) {
    // Opaque, so that the compiler makes one copy of this code and not one for each case.
    const bool store = arch::opaque(out) != 0;
    const float alpha_i = store ? -arch::load_shared(alpha + me.r + kRowCycle * p) : 0.0f;
    VDN_UNROLL
    for (int u = 0; u <= p / 4; ++u) {
      float m[2] = {0.0f, 0.0f};
      VDN_UNROLL
      for (int q = 2 * u; q < 2 * u + 2; ++q) {
        if (!tile::sweep_holds(p, q)) continue;
        const bool lower = me.lower(p, q), diagonal = me.diagonal(p, q);
        float* own = row + sweep_stage_word(kRowCycle * p, kColumnCycle * q);
        const float raw = lower ? arch::load_shared(own) : 0.0f;
        const float x = tile::sweep_element(tile, p, q);
        arch::store_shared_if(store && lower, own, arch::fmul(alpha_i, x));
        arch::store_shared_if(store && lower && !diagonal, column + sweep_stage_word(kColumnCycle * q, kRowCycle * p),
                              arch::fmul(alpha_j[q], x));
        m[q % 2] = arch::ffma(a_scale, raw, diagonal ? 1.0f : 0.0f);
      }
      tile::sweep_set(tile, p, u, m[0], m[1]);
    }
  }
}

// What a bad pivot makes of the matrix.
VDN_DEVICE void sweep_spoil(tile::SweepTile& tile) {
  VDN_UNROLL
  for (int p = 0; p < kRows; ++p) {
    VDN_UNROLL
    for (int u = 0; u <= p / 4; ++u) tile::sweep_set(tile, p, u, arch::quiet_nan(), arch::quiet_nan());
  }
}

// By the copy engine, two rows at a time since there is a gap behind each two: pairs first, first + every, ... by one
// thread. All addresses are multiples of 16 bytes. Of the threads that share a matrix, one expects all its bytes. Of
// the first row of a pair all is read, of the second what is up to the end of the diagonal's block of 16.
constexpr int kSweepPairs = kDim / 2;
constexpr int kBlockPairs = kColumnCycle / 2;  // of which all are of a length
// The sum over all pairs: kBlockPairs each of 128 + 16, 128 + 32, ..., 128 + 128 words.
constexpr int kSweepBytes = 4 * kBlockPairs * kColumns * (kDim + kColumnCycle * (kColumns + 1) / 2);
VDN_DEVICE void sweep_bulk_load(SweepStage& stage, const float* A, int first, int every, arch::Mbarrier* ready) {
  const float* from = A + first * 2 * kDim;
  float* to = stage.word + first * kSweepStagePitch;
  VDN_NO_UNROLL
  for (int bytes = 4 * (kDim + kColumnCycle); bytes <= 4 * 2 * kDim; bytes += 4 * kColumnCycle) {
    VDN_UNROLL_BY(4)
    for (int i = 0; i < kBlockPairs; i += every) {
      arch::bulk_load(to, from, bytes, ready);
      from += every * 2 * kDim;
      to += every * kSweepStagePitch;
    }
  }
}
VDN_DEVICE void sweep_bulk_store(const SweepStage& stage, float* T, int first, int every) {
  VDN_UNROLL_BY(4)
  for (int pair = first; pair < kSweepPairs; pair += every)
    arch::bulk_store(T + pair * 2 * kDim, stage.word + pair * kSweepStagePitch, 2 * kDim * 4);
  arch::bulk_store_commit();
}

// By the team's threads, four bytes at a time, for any other alignment.
VDN_DEVICE void sweep_word_load(int thread, SweepStage& stage, const float* A) {
  VDN_NO_UNROLL
  for (int row = 0; row < kDim; ++row)
    if (thread < sweep_row_words(row))
      arch::store_shared(stage.word + sweep_stage_word(row, thread), arch::load_global(A + row * kDim + thread));
}
VDN_DEVICE void sweep_word_store(int thread, const SweepStage& stage, float* T) {
  VDN_NO_UNROLL
  for (int row = 0; row < kDim; ++row)
    arch::store_global(T + row * kDim + thread, arch::load_shared(stage.word + sweep_stage_word(row, thread)));
}

}  // namespace vdn_delta::phases
