// SPDX-License-Identifier: Apache-2.0
//
// The way in and out of the sweep by 256 threads: A straight into the registers, T half straight and half through a
// stage. 4-byte accesses, any alignment.
#pragma once

#include "arch/vec_mem.cuh"
#include "arch/warp_math.cuh"
#include "phases/square.cuh"
#include "phases/square_panels.h"
#include "shape.h"
#include "tile/square_tile.cuh"

namespace vdn_delta::phases {

VDN_DEVICE void square_load(tile::SquareTile& tile, SquareThread me, const float* A, float a_scale) {
  const float* mine = A + me.r * kDim + me.c;
  float raw[tile::kSquareRows][tile::kSquareRows];
  VDN_UNROLL
  for (int q = 0; q < tile::kSquareRows; ++q) {
    VDN_UNROLL
    for (int p = q; p < tile::kSquareRows; ++p)
      raw[p][q] = p > q || me.r >= me.c ? arch::load_global(mine + 16 * p * kDim + 16 * q) : 0.0f;
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

// T: its lower triangle straight to global memory, the mirrored part through the stage.
VDN_DEVICE void square_store(const tile::SquareTile& tile, SquareThread me, bool spoiled, const float* alpha,
                             SquareStage& stage, float* T) {
  float alpha_j[tile::kSquareRows];
  VDN_UNROLL
  for (int q = 0; q < tile::kSquareRows; ++q) alpha_j[q] = -arch::load_shared(alpha + me.c + 16 * q);
  float alpha_i[tile::kSquareRows];
  VDN_UNROLL
  for (int p = 0; p < tile::kSquareRows; ++p) alpha_i[p] = -arch::load_shared(alpha + me.r + 16 * p);
  float* column = stage.word + me.c * kSquareStagePitch + me.r;
  float* row = T + me.r * kDim + me.c;
  VDN_UNROLL
  for (int p = 0; p < tile::kSquareRows; ++p) {
    VDN_UNROLL
    for (int q = 0; q <= p; ++q) {
      const float x = spoiled ? arch::quiet_nan() : tile::square_element(tile, p, q);
      arch::store_shared_if(p > q || me.r > me.c, column + 16 * q * kSquareStagePitch + 16 * p, arch::fmul(alpha_j[q], x));
      if (p > q || me.r >= me.c) arch::store_global(row + 16 * p * kDim + 16 * q, arch::fmul(alpha_i[p], x));
    }
  }
}
// The second half, behind a barrier: each of eight warps its rows j, from the diagonal to the right.
VDN_DEVICE void square_store_mirror(int warp, int lane, const SquareStage& stage, float* T) {
  constexpr int kAtOnce = 4;
  VDN_NO_UNROLL
  for (int n = 0; n < kDim / 8; n += kAtOnce) {
    float x[kAtOnce][4];
    VDN_UNROLL
    for (int u = 0; u < kAtOnce; ++u) {
      VDN_UNROLL
      for (int b = 0; b < 4; ++b) {
        const int j = 8 * (n + u) + warp, i = 32 * b + lane;
        x[u][b] = i > j ? arch::load_shared(stage.word + j * kSquareStagePitch + i) : 0.0f;
      }
    }
    VDN_UNROLL
    for (int u = 0; u < kAtOnce; ++u) {
      const int j = 8 * (n + u) + warp;
      VDN_UNROLL
      for (int b = 0; b < 4; ++b)
        if (32 * b + lane > j) arch::store_global(T + j * kDim + 32 * b + lane, x[u][b]);
    }
  }
}

}  // namespace vdn_delta::phases
