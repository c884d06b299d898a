// SPDX-License-Identifier: Apache-2.0
//
// The sweep team's way in and out: A from global memory through a stage in shared memory into registers, and -X from
// there through the same stage to T = diag(alpha) X.
//
// Scope: one matrix; the exchange is called by all threads of the team, the copies as they say. The stage holds the
// lower triangle of the next A, then T. Only the lower triangle of A reaches a result, and of A's rows only the part up
// to the end of the diagonal's block of 16 is read at all.
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
}  // what is read of row `row` of A

// If `out`, puts T = diag(alpha) X into the stage; if `in`, fills the registers with I + a A from it. Each thread takes
// its own elements of A out before it puts T's in their place; T's upper triangle falls on words that nobody reads.
VDN_DEVICE void sweep_exchange(tile::SweepTile& tile, SweepThread me, bool in, bool out, const float* alpha,
                               SweepStage& stage, float a_scale) {
  float* row = stage.word + me.r * kSweepStagePitch + me.c;
  float* column = stage.word + me.c * kSweepStagePitch + me.r;
  float alpha_j[kColumns];
  VDN_UNROLL
  for (int q = 0; q < kColumns; ++q) alpha_j[q] = out ? -arch::load_shared(alpha + me.c + kColumnCycle * q) : 0.0f;
  VDN_UNROLL
  for (int p = 0; p < kRows; ++p) {
    // Opaque, so that the compiler makes one copy of this code and not one for each case.
    const bool load = arch::opaque(in) != 0, store = arch::opaque(out) != 0;
    const float alpha_i = store ? -arch::load_shared(alpha + me.r + kRowCycle * p) : 0.0f;
    VDN_UNROLL
    for (int u = 0; u <= p / 4; ++u) {
      float m[2] = {0.0f, 0.0f};
      VDN_UNROLL
      for (int q = 2 * u; q < 2 * u + 2; ++q) {
        if (!tile::sweep_holds(p, q)) continue;
        const bool lower = me.lower(p, q), diagonal = me.diagonal(p, q);
        float* own = row + kRowCycle * p * kSweepStagePitch + kColumnCycle * q;
        const float raw = load && lower ? arch::load_shared(own) : 0.0f;
        const float x = tile::sweep_element(tile, p, q);
        arch::store_shared_if(store && lower, own, arch::fmul(alpha_i, x));
        arch::store_shared_if(store && lower && !diagonal, column + kColumnCycle * q * kSweepStagePitch + kRowCycle * p,
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

// By the copy engine, row by row since the stage's rows are padded: rows first, first + every, ... by one thread. All
// addresses are multiples of 16 bytes. Of the threads that share a matrix, one expects all its bytes.
// The sum of sweep_row_words over all rows: 16 rows each of 16, 32, ..., 128 words.
constexpr int kSweepBytes = 4 * kColumnCycle * kColumnCycle * kColumns * (kColumns + 1) / 2;
VDN_DEVICE void sweep_bulk_load(SweepStage& stage, const float* A, int first, int every, arch::Mbarrier* ready) {
  const float* from = A + first * kDim;
  float* to = stage.word + first * kSweepStagePitch;
  VDN_NO_UNROLL
  for (int bytes = 4 * sweep_row_words(0); bytes <= 4 * kDim; bytes += 4 * kColumnCycle) {  // 16 rows of a length
    VDN_UNROLL_BY(4)
    for (int i = 0; i < kColumnCycle; i += every) {
      arch::bulk_load(to, from, bytes, ready);
      from += every * kDim;
      to += every * kSweepStagePitch;
    }
  }
}
VDN_DEVICE void sweep_bulk_store(const SweepStage& stage, float* T, int first, int every) {
  VDN_UNROLL_BY(4)
  for (int row = first; row < kDim; row += every)
    arch::bulk_store(T + row * kDim, stage.word + row * kSweepStagePitch, kDim * 4);
  arch::bulk_store_commit();
}

// By the team's threads, four bytes at a time, for any other alignment.
VDN_DEVICE void sweep_word_load(int thread, SweepStage& stage, const float* A) {
  VDN_NO_UNROLL
  for (int row = 0; row < kDim; ++row)
    if (thread < sweep_row_words(row))
      arch::store_shared(stage.word + row * kSweepStagePitch + thread, arch::load_global(A + row * kDim + thread));
}
VDN_DEVICE void sweep_word_store(int thread, const SweepStage& stage, float* T) {
  VDN_NO_UNROLL
  for (int row = 0; row < kDim; ++row)
    arch::store_global(T + row * kDim + thread, arch::load_shared(stage.word + row * kSweepStagePitch + thread));
}

}  // namespace vdn_delta::phases
