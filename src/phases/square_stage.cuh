// SPDX-License-Identifier: Apache-2.0
//
// The way in and out of the sweep by 256 threads: A from global memory straight into the registers, and -X from there
// to T = diag(alpha) X, its lower triangle straight, its mirrored part through a stage. For who has nothing else to do
// meanwhile: no copy engine, no look-ahead to the next matrix.
//
// Scope: one matrix, all 256 threads of the sweep team, with a barrier of theirs in front of square_store_mirror,
// and one more before a stage for half of the mirrored part is filled again.
//
// Reads: the lower triangle of A, alpha. Writes: T; the stage, above its diagonal.
// Entry: nothing in registers for square_load, -X for square_store. Exit: I + a A; nothing.
//
// Mathematics: M_ij = a A_ij + [i = j]; T_ij = -alpha_i (-X)_ij and T_ji = -alpha_j (-X)_ij for i > j.
// Cost: 36 loads; 36 stores to global and 36 to shared memory; for the mirrored part 64 loads and 64 stores, of which
// half are taken. Accesses to global memory are 4 bytes wide, for any alignment: a warp's are 64 bytes of each of two
// rows, in the mirrored part 128 of one.
#pragma once

#include "arch/vec_mem.cuh"
#include "arch/warp_math.cuh"
#include "phases/square.cuh"
#include "phases/square_panels.h"
#include "shape.h"
#include "tile/square_tile.cuh"

namespace vdn_delta::phases {

// All loads first, then what is made of them: one latency instead of 36.
VDN_DEVICE void square_load(tile::SquareTile& tile, SquareThread me, const float* A, float a_scale) {
  const float* mine = A + me.r * kDim + me.c;
  float raw[tile::kSquareRows][tile::kSquareRows];
  VDN_UNROLL
  for (int q = 0; q < tile::kSquareRows; ++q) {
    VDN_UNROLL
    for (int p = q; p < tile::kSquareRows; ++p)
      raw[p][q] = p > q || me.r >= me.c ? arch::load_global(mine + kColumnCycle * p * kDim + kColumnCycle * q) : 0.0f;
  }
  VDN_UNROLL
  for (int u = 0; u < tile::kSquarePairs; ++u) {
    VDN_UNROLL
    for (int p = 2 * u; p < tile::kSquareRows; ++p) {
      const float one = me.r == me.c ? 1.0f : 0.0f;
      const float x = arch::ffma(a_scale, raw[p][2 * u], p == 2 * u ? one : 0.0f);
      const float y = p > 2 * u ? arch::ffma(a_scale, raw[p][2 * u + 1], p == 2 * u + 1 ? one : 0.0f) : 0.0f;
      tile::square_pair(tile, p, u) = arch::make_pair(x, y);
    }
  }
}

// T's lower triangle, and what is to be mirrored into the stage: column j of X is row j there. A bad matrix is NaN.
// Columns `first` to `end` - 1, multiples of 16: all of them, or as many as the stage has rows, from its row 0 on.
template <int first = 0, int end = kDim, int rows>
VDN_DEVICE void square_store(const tile::SquareTile& tile, SquareThread me, bool spoiled, const float* alpha,
                             SquareStageOf<rows>& stage, float* T) {
  constexpr int q0 = first / kColumnCycle, q1 = end / kColumnCycle;
  static_assert(q0 * kColumnCycle == first && q1 * kColumnCycle == end && end - first <= rows, "they fit");
  float alpha_j[tile::kSquareRows];
  VDN_UNROLL
  for (int q = q0; q < q1; ++q) alpha_j[q] = -arch::load_shared(alpha + me.c + kColumnCycle * q);
  float alpha_i[tile::kSquareRows];
  VDN_UNROLL
  for (int p = q0; p < tile::kSquareRows; ++p) alpha_i[p] = -arch::load_shared(alpha + me.r + kColumnCycle * p);
  float* column = stage.word + me.c * kSquareStagePitch + me.r;
  float* row = T + me.r * kDim + me.c;
  VDN_UNROLL
  for (int p = q0; p < tile::kSquareRows; ++p) {
    VDN_UNROLL
    for (int q = q0; q <= p && q < q1; ++q) {
      const float x = spoiled ? arch::quiet_nan() : tile::square_element(tile, p, q);
      arch::store_shared_if(p > q || me.r > me.c,
                            column + kColumnCycle * (q - q0) * kSquareStagePitch + kColumnCycle * p,
                            arch::fmul(alpha_j[q], x));
      if (p > q || me.r >= me.c)
        arch::store_global(row + kColumnCycle * p * kDim + kColumnCycle * q, arch::fmul(alpha_i[p], x));
    }
  }
}

// T's mirrored part, behind the barrier: each warp every eighth row j of those in the stage, which begin with `first`,
// right of the diagonal. Four rows at a time: that many loads are under way together, without the registers for all.
template <int first = 0, int rows>
VDN_DEVICE void square_store_mirror(int warp, int lane, const SquareStageOf<rows>& stage, float* T) {
  constexpr int kAtOnce = 4, kRowWords = kDim / 32, kBegin = first / 32;  // of a lane; left of it is no mirrored part
  static_assert(rows % (kSquareWarps * kAtOnce) == 0, "whole rounds");
  VDN_NO_UNROLL
  for (int n = 0; n < rows / kSquareWarps; n += kAtOnce) {
    float x[kAtOnce][kRowWords];
    VDN_UNROLL
    for (int u = 0; u < kAtOnce; ++u) {
      VDN_UNROLL
      for (int b = kBegin; b < kRowWords; ++b) {
        const int j = kSquareWarps * (n + u) + warp, i = 32 * b + lane;
        x[u][b] = i > first + j ? arch::load_shared(stage.word + j * kSquareStagePitch + i) : 0.0f;
      }
    }
    VDN_UNROLL
    for (int u = 0; u < kAtOnce; ++u) {
      const int j = first + kSquareWarps * (n + u) + warp;
      VDN_UNROLL
      for (int b = kBegin; b < kRowWords; ++b)
        if (32 * b + lane > j) arch::store_global(T + j * kDim + 32 * b + lane, x[u][b]);
    }
  }
}

}  // namespace vdn_delta::phases
