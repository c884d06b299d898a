// SPDX-License-Identifier: Apache-2.0
//
// The injection: J = b B X, by carrying B's rows through the same 16 steps as the matrix.
//
// Scope: 16 rows of B, one warp of eight that share B (pair and compact; single has phases/turn.cuh); warps never wait
// for one another. Reads the H panels; writes its own row panels. Entry: the rows of b B in registers; exit: the rows
// of J.
//
// Mathematics. B is the lower block of the symmetric matrix [[M, B^T], [B, 0]]: the sweep of M turns B into B M^-1.
// Step s takes the eight columns C of block s out of the rows (they become zero) and adds C . H_j to every column j;
// H's rows in block s are S^-1, so that the block's own columns become C S^-1. Cost: 8 x 64 fma for each thread and
// step (2 n^3 FLOP in all), no product with a finished inverse, no wait for it.
#pragma once

#include "arch/vec_mem.cuh"
#include "arch/warp_math.cuh"
#include "phases/panels.h"
#include "shape.h"
#include "tile/choose.cuh"
#include "tile/inject_tile.cuh"

namespace vdn_delta::phases {

struct InjectThread {
  int h;                                                                    // which half of the warp's rows
  int c;                                                                    // columns c + 16 q
  VDN_DEVICE explicit InjectThread(int lane) : h(lane % 2), c(lane / 2) {}  // i ^ 1 and i ^ 2: see SweepThread
};

template <int q, int rows>
VDN_DEVICE void inject_publish_column(tile::InjectTileOf<rows>& tile, float* out) {
  VDN_UNROLL
  for (int row = 0; row < rows; ++row) {
    arch::store_shared(out + tile::inject_row_place(row), tile::inject_element(tile, row, q));
    tile::inject_clear(tile, row, q);
  }
}

// Takes the columns of block s out of the warp's rows.
template <int rows, int pitch>
VDN_DEVICE void inject_publish(tile::InjectTileOf<rows>& tile, InjectThread me, int s, RowPanelOf<pitch>& panel) {
  if (me.c / kStep == s % 2) {
    float* out = panel.word + (me.c % kStep) * pitch + me.h * rows;
    tile::choose<0, kColumns>(s / 2, [&](auto q) { inject_publish_column<q>(tile, out); });
  }
}

// The update, with the next operands loaded ahead (tile/inject_tile.cuh).
template <int rows, int pitch>
VDN_DEVICE void inject_update_ahead(tile::InjectTileOf<rows>& tile, InjectThread me, const RowPanelOf<pitch>& panel,
                                    const HPanel& h) {
  tile::inject_update_ahead<pitch, kHPitch>(tile, panel.word + me.h * rows, h.word + me.c * 4);
}

// A column of the tile at a time, `unroll` k in a row, nothing loaded ahead (tile/inject_tile.cuh).
template <int unroll, int rows, int pitch>
VDN_DEVICE void inject_update_columns(tile::InjectTileOf<rows>& tile, InjectThread me, const RowPanelOf<pitch>& panel,
                                      const HPanel& h) {
  tile::inject_update_columns<unroll, pitch, kHPitch>(tile, panel.word + me.h * rows, h.word + me.c * 4);
}

// B's rows straight into the registers, and J's straight out: for who has nothing else to do meanwhile. 4-byte
// accesses, any alignment. All loads first: one latency for them.
template <int rows>
VDN_DEVICE void inject_load(tile::InjectTileOf<rows>& tile, InjectThread me, const float* B, float b_scale) {
  const float* mine = B + me.h * rows * kDim + me.c;
  float m[rows][kColumns];
  VDN_UNROLL
  for (int row = 0; row < rows; ++row) {
    VDN_UNROLL
    for (int q = 0; q < kColumns; ++q) m[row][q] = arch::load_global(mine + row * kDim + kColumnCycle * q);
  }
  VDN_UNROLL
  for (int row = 0; row < rows; ++row) {
    VDN_UNROLL
    for (int u = 0; u < kColumns / 2; ++u)
      tile.acc[row][u] = arch::fmul2(b_scale, make_float2(m[row][2 * u], m[row][2 * u + 1]));
  }
}
template <int rows>
VDN_DEVICE void inject_store(const tile::InjectTileOf<rows>& tile, InjectThread me, float* J) {
  float* mine = J + me.h * rows * kDim + me.c;
  VDN_UNROLL
  for (int row = 0; row < rows; ++row) {
    VDN_UNROLL
    for (int q = 0; q < kColumns; ++q)
      arch::store_global(mine + row * kDim + kColumnCycle * q, tile::inject_element(tile, row, q));
  }
}

// What a bad pivot makes of the matrix.
template <int rows>
VDN_DEVICE void inject_spoil(tile::InjectTileOf<rows>& tile) {
  const arch::Pair nan = arch::make_pair(arch::quiet_nan(), arch::quiet_nan());
  VDN_UNROLL
  for (int row = 0; row < rows; ++row) {
    VDN_UNROLL
    for (int u = 0; u < kColumns / 2; ++u) tile.acc[row][u] = nan;
  }
}

}  // namespace vdn_delta::phases
