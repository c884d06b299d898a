// SPDX-License-Identifier: Apache-2.0
//
// The injection: J = b B X, by carrying B's rows through the same 16 steps as the matrix.
//
// Scope: 16 rows of B, one warp; warps never wait for one another. Reads B and the H panels; writes its own row panels
// and J. Entry: nothing; exit: the registers hold J's rows.
//
// Mathematics. B is the lower block of the symmetric matrix [[M, B^T], [B, 0]]: the sweep of M turns B into B M^-1. Step
// s takes the eight columns C of block s out of the rows (they become zero) and adds C . H_j to every column j; H's rows
// in block s are S^-1, so that the block's own columns become C S^-1.
// Cost: 8 x 64 fma for each thread and step (2 n^3 FLOP in all), no product with a finished inverse, no wait for it.
#pragma once

#include "arch/barrier.cuh"
#include "arch/bulk_copy.cuh"
#include "arch/vec_mem.cuh"
#include "arch/warp_math.cuh"
#include "phases/panels.h"
#include "shape.h"
#include "tile/inject_tile.cuh"

namespace vdn_delta::phases {

struct InjectThread {
  int row;  // the first of this lane's eight rows, in the matrix
  int h;    // which half of the warp's 16 rows
  int c;    // columns c + 16 q
  VDN_DEVICE explicit InjectThread(int thread) {
    h = thread % 2;
    c = thread % 32 / 2;
    row = (thread / 32) * 16 + h * tile::kInjectRows;
  }
};

VDN_DEVICE void inject_load(tile::InjectTile& tile, InjectThread me, const float* B) {
  const float* mine = B + me.row * kDim + me.c;
  VDN_UNROLL
  for (int row = 0; row < tile::kInjectRows; ++row) {
    VDN_UNROLL
    for (int u = 0; u < kPerThread / 2; ++u) {
      const float* pair = mine + row * kDim + 2 * kCycle * u;
      tile.acc[u][row] = arch::make_pair(arch::load_global(pair), arch::load_global(pair + kCycle));
    }
  }
}

VDN_DEVICE void inject_scale(tile::InjectTile& tile, float b_scale) {
  VDN_UNROLL
  for (int row = 0; row < tile::kInjectRows; ++row) {
    VDN_UNROLL
    for (int u = 0; u < kPerThread / 2; ++u) {
      const float2 v = arch::pair_values(tile.acc[u][row]);
      tile.acc[u][row] = arch::make_pair(arch::fmul(b_scale, v.x), arch::fmul(b_scale, v.y));
    }
  }
}

// Brings a later matrix B into L2: 512 lines of 128 bytes, two for each of the team's 256 threads.
VDN_DEVICE void inject_prefetch(int thread, const float* B) {
  VDN_UNROLL
  for (int line = 0; line < 2; ++line) arch::prefetch_l2(B + (thread + 256 * line) * 32);
}

template <int Q>
VDN_DEVICE void inject_publish_columns(tile::InjectTile& tile, InjectThread me, float* out) {
  VDN_UNROLL
  for (int row = 0; row < tile::kInjectRows; ++row) arch::store_shared(out + row, tile::inject_element(tile, row, Q));
  VDN_UNROLL
  for (int row = 0; row < tile::kInjectRows; ++row) tile::inject_clear(tile, row, Q);
}

// Takes the columns of block s out of the warp's rows.
VDN_DEVICE void inject_publish(tile::InjectTile& tile, InjectThread me, int s, RowPanel& panel) {
  if (me.c / kStep == s % 2) {
    float* out = panel.word + (me.c % kStep) * kRowPitch + me.h * tile::kInjectRows;
    switch (s / 2) {  // registers cannot be indexed at run time
      case 0: inject_publish_columns<0>(tile, me, out); break;
      case 1: inject_publish_columns<1>(tile, me, out); break;
      case 2: inject_publish_columns<2>(tile, me, out); break;
      case 3: inject_publish_columns<3>(tile, me, out); break;
      case 4: inject_publish_columns<4>(tile, me, out); break;
      case 5: inject_publish_columns<5>(tile, me, out); break;
      case 6: inject_publish_columns<6>(tile, me, out); break;
      default: inject_publish_columns<7>(tile, me, out); break;
    }
  }
}

VDN_DEVICE void inject_update(tile::InjectTile& tile, InjectThread me, const RowPanel& panel, const HPanel& h) {
  tile::inject_update<kRowPitch, kHPitch>(tile, panel.word + me.h * tile::kInjectRows, h.word + me.c * 4);
}

VDN_DEVICE float inject_result(const tile::InjectTile& tile, int row, int q, bool bad) {
  return bad ? arch::quiet_nan() : tile::inject_element(tile, row, q);
}

VDN_DEVICE void inject_store(const tile::InjectTile& tile, InjectThread me, bool bad, float* J) {
  float* mine = J + me.row * kDim + me.c;
  VDN_UNROLL
  for (int row = 0; row < tile::kInjectRows; ++row) {
    VDN_UNROLL
    for (int q = 0; q < kPerThread; ++q)
      arch::store_global(mine + row * kDim + kCycle * q, inject_result(tile, row, q, bad));
  }
}

// Takes the next B out of the stage if `in`, and puts J in its place if `out`: each thread its own elements.
template <bool in, bool out>
VDN_DEVICE void inject_exchange(tile::InjectTile& tile, InjectThread me, bool bad, InjectStage& stage, float b_scale) {
  float* mine = stage.word + me.row * kDim + me.c;
  VDN_UNROLL
  for (int row = 0; row < tile::kInjectRows; ++row) {
    VDN_UNROLL
    for (int u = 0; u < kPerThread / 2; ++u) {
      float* pair = mine + row * kDim + 2 * kCycle * u;
      float2 v = make_float2(0.0f, 0.0f);
      if (in) v = make_float2(arch::load_shared(pair), arch::load_shared(pair + kCycle));
      if (out) {
        arch::store_shared(pair, inject_result(tile, row, 2 * u, bad));
        arch::store_shared(pair + kCycle, inject_result(tile, row, 2 * u + 1, bad));
      }
      if (in) tile.acc[u][row] = arch::make_pair(arch::fmul(b_scale, v.x), arch::fmul(b_scale, v.y));
    }
  }
}

// The copies of a warp's 16 rows, by one thread.
constexpr int kInjectBytes = 16 * kDim * static_cast<int>(sizeof(float));
VDN_DEVICE void inject_stage_load(int warp, InjectStage& stage, const float* B, arch::Mbarrier* ready) {
  arch::mbarrier_arrive_expect(ready, kInjectBytes);
  arch::bulk_load(stage.word + warp * 16 * kDim, B + warp * 16 * kDim, kInjectBytes, ready);
}
VDN_DEVICE void inject_stage_store(int warp, const InjectStage& stage, float* J) {
  arch::bulk_store(J + warp * 16 * kDim, stage.word + warp * 16 * kDim, kInjectBytes);
  arch::bulk_store_commit();
}

}  // namespace vdn_delta::phases
