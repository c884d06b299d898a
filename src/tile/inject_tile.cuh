// SPDX-License-Identifier: Apache-2.0
//
// The registers in which one thread of the injection team holds its share of B, later J, and the rank-8 update of them.
//
// Eight warps share B. A warp owns 2 n = 16 rows and all 128 columns; lane (h, c), h in 0..1 and 0 <= c < 16, holds
// rows n h .. n h + n - 1 of them and the columns c + 16 q: 64 elements. Columns lie in pairs over q for the packed
// fma.
#pragma once

#include "arch/ffma2.cuh"
#include "arch/vec_mem.cuh"
#include "shape.h"

namespace vdn_delta::tile {

// Where a row lies among the n of its half of a row panel: neighbours change places. A 16-byte load puts them into an
// even and an odd register, ptxas numbers the accumulators in the order of the rows, and an fma wants its accumulator
// and its row's operand in different banks (ffma2.cuh). tools/check-sass counts the conflicts.
constexpr int inject_row_place(int row) { return row ^ 1; }

template <int rows>
struct InjectTileOf {
  arch::Pair acc[rows][kColumns / 2];  // [row][pair of columns]
};

template <int rows>
VDN_DEVICE float inject_element(const InjectTileOf<rows>& tile, int row, int q) {
  const float2 v = arch::pair_values(tile.acc[row][q / 2]);
  return q % 2 == 0 ? v.x : v.y;
}
template <int rows>
VDN_DEVICE void inject_clear(InjectTileOf<rows>& tile, int row, int q) {
  const float2 v = arch::pair_values(tile.acc[row][q / 2]);
  tile.acc[row][q / 2] = q % 2 == 0 ? arch::make_pair(0.0f, v.y) : arch::make_pair(v.x, 0.0f);
}

// tile(row, q) += sum over k = 0..7 of rows[k][row] * columns[k][q], straight. `rows` and `columns` point at this
// thread's first word in panel row 0; the pitches are in words. All operands of the next k are loaded ahead, and the
// loop is unrolled in full. A column of the tile at a time, down and up, so that its operand stays in place
// (docs/decisions/0003).
template <int n>
struct InjectOperands {
  float4 a[n / 4];
  float4 b[2];
};
template <int kRowPitch, int kColumnPitch, int n>
VDN_DEVICE void inject_operands(InjectOperands<n>& x, const float* rows, const float* columns, int k) {
  VDN_UNROLL
  for (int g = 0; g < n / 4; ++g) x.a[g] = arch::load_shared4(rows + k * kRowPitch + 4 * g);
  x.b[0] = arch::load_shared4(columns + k * kColumnPitch);
  x.b[1] = arch::load_shared4(columns + k * kColumnPitch + 4 * kColumnCycle);
}
template <int n>
VDN_DEVICE void inject_outer(InjectTileOf<n>& tile, const InjectOperands<n>& x) {
  const float2 b[kColumns / 2] = {make_float2(x.b[0].y, x.b[0].x), make_float2(x.b[0].w, x.b[0].z),
                                  make_float2(x.b[1].y, x.b[1].x), make_float2(x.b[1].w, x.b[1].z)};
  float row[n];
  VDN_UNROLL
  for (int g = 0; g < n / 4; ++g) {
    row[inject_row_place(4 * g)] = x.a[g].x, row[inject_row_place(4 * g + 1)] = x.a[g].y;
    row[inject_row_place(4 * g + 2)] = x.a[g].z, row[inject_row_place(4 * g + 3)] = x.a[g].w;
  }
  VDN_UNROLL
  for (int u = 0; u < kColumns / 2; ++u) {
    arch::Pair column[n];
    VDN_UNROLL
    for (int i = 0; i < n; ++i) column[i] = tile.acc[i][u];
    arch::ffma2_column(column, row, b[u]);
    VDN_UNROLL
    for (int i = 0; i < n; ++i) tile.acc[i][u] = column[i];
  }
}
template <int kRowPitch, int kColumnPitch, int n>
VDN_DEVICE void inject_update_ahead(InjectTileOf<n>& tile, const float* rows, const float* columns) {
  InjectOperands<n> even, odd;
  inject_operands<kRowPitch, kColumnPitch>(even, rows, columns, 0);
  VDN_UNROLL
  for (int k = 0; k < kStep; k += 2) {
    inject_operands<kRowPitch, kColumnPitch>(odd, rows, columns, k + 1);
    inject_outer(tile, even);
    if (k + 2 < kStep) inject_operands<kRowPitch, kColumnPitch>(even, rows, columns, k + 2);
    inject_outer(tile, odd);
  }
}

// The same columns, but nothing loaded ahead, and `kUnroll` k in a row: for who has few registers and other warps to
// run meanwhile.
template <int kUnroll, int kRowPitch, int kColumnPitch, int n>
VDN_DEVICE void inject_update_columns(InjectTileOf<n>& tile, const float* rows, const float* columns) {
  VDN_UNROLL_BY(kUnroll)
  for (int k = 0; k < kStep; ++k) {
    InjectOperands<n> x;
    inject_operands<kRowPitch, kColumnPitch>(x, rows, columns, k);
    inject_outer(tile, x);
  }
}

}  // namespace vdn_delta::tile
