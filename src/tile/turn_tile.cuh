// SPDX-License-Identifier: Apache-2.0
//
// The registers in which one thread of the injection team holds its share of B, later J, and the rank-8 update of them,
// where four warps share B.
//
// A warp owns 32 rows and all 128 columns; lane (h, c), 0 <= h < 4 and 0 <= c < 8, holds rows 8 h .. 8 h + 7 of them
// and the columns c + 8 q, so that each step's eight columns are one column of every lane. Registers cannot be indexed
// at run time, so the tile turns: in step s, acc[q] holds the columns c + 8 ((q + s) % 16), and a step's columns are
// always acc[0]. The update's last k writes its sums one place further; after 16 steps everything is where it was. Rows
// lie in pairs for the packed fma. Where a warp owns less rows, a lane holds as many pairs less.
#pragma once

#include "arch/ffma2.cuh"
#include "arch/vec_mem.cuh"
#include "shape.h"

namespace vdn_delta::tile {

constexpr int kTurnRows = 8;  // of a thread
constexpr int kTurnPairs = kTurnRows / 2;
constexpr int kTurnColumns = kDim / kTurnCycle;  // 16
constexpr int kTurnGroups = kTurnColumns / 4;    // of four columns: a 16-byte word

template <int pairs>
struct TurnTileOf {
  arch::Pair acc[kTurnColumns][pairs];  // [column][pair of rows]
};
using TurnTile = TurnTileOf<kTurnPairs>;

template <int pairs>
VDN_DEVICE float turn_element(const TurnTileOf<pairs>& tile, int row, int q) {
  const float2 v = arch::pair_values(tile.acc[q][row / 2]);
  return row % 2 == 0 ? v.x : v.y;
}

// The operands of one k: the rows', in pairs, and the columns'.
template <int pairs>
struct TurnOperandsOf {
  float2 rows[pairs];
  float4 columns[kTurnGroups];
};
using TurnOperands = TurnOperandsOf<kTurnPairs>;
template <int pairs>
VDN_DEVICE void turn_rows(TurnOperandsOf<pairs>& x, const float* rows) {
  VDN_UNROLL
  for (int g = 0; g < pairs / 2; ++g) {
    const float4 four = arch::load_shared4(rows + 4 * g);
    x.rows[2 * g] = make_float2(four.x, four.y), x.rows[2 * g + 1] = make_float2(four.z, four.w);
  }
}
template <int pairs>
VDN_DEVICE void turn_columns(TurnOperandsOf<pairs>& x, const float* columns, int first, int last) {
  VDN_UNROLL
  for (int g = first; g < last; ++g) x.columns[g] = arch::load_shared4(columns + g * 4 * kTurnCycle);
}
template <int pairs>
VDN_DEVICE float turn_column(const TurnOperandsOf<pairs>& x, int q) {
  const float4& four = x.columns[q / 4];
  return q % 4 == 0 ? four.x : q % 4 == 1 ? four.y : q % 4 == 2 ? four.z : four.w;
}

// One k and some columns, a column of the tile after the other, down one and up the next: an fma then shares an operand
// with the one before, also where the column changes, and on sm_90 ptxas places all the others without bank conflicts
// (2 in 128 fma; in two halves of the rows it were 21: docs/decisions/0010).
template <int pairs>
VDN_DEVICE void turn_rank1(TurnTileOf<pairs>& tile, const TurnOperandsOf<pairs>& x, int first, int last) {
  VDN_UNROLL
  for (int q = first; q < last; ++q) {
    if (q % 2 == 0)
      arch::ffma2_row(tile.acc[q], turn_column(x, q), x.rows);
    else
      arch::ffma2_row_back(tile.acc[q], turn_column(x, q), x.rows);
  }
}
// The last k of a step, which turns the tile by a column: each takes the place of the one before. The columns of the
// next step are there early, and `publish` may have them.
template <int pairs, class Publish>
VDN_DEVICE void turn_last(TurnTileOf<pairs>& tile, const TurnOperandsOf<pairs>& x, Publish publish) {
  arch::Pair first[pairs];
  VDN_UNROLL
  for (int q = 0; q < kTurnColumns; ++q) {
    VDN_UNROLL
    for (int u = 0; u < pairs; ++u)
      (q == 0 ? first[u] : tile.acc[q - 1][u]) = arch::ffma2(tile.acc[q][u], turn_column(x, q), x.rows[u]);
    if (q == 1) publish();
  }
  VDN_UNROLL
  for (int u = 0; u < pairs; ++u) tile.acc[kTurnColumns - 1][u] = first[u];
}

// tile(row, q) += sum over k = 0..7 of rows[k][row] * columns[k][q], straight. `rows` and `columns` point at this
// thread's first word in panel row 0; the pitches are in words; `x` holds the rows' operands of k = 0. `publish`: see
// turn_last.
template <int kRowPitch, int kColumnPitch, int pairs, class Publish>
VDN_DEVICE void turn_update(TurnTileOf<pairs>& tile, TurnOperandsOf<pairs>& x, const float* rows, const float* columns,
                            Publish publish) {
  turn_columns(x, columns, 0, kTurnGroups);
  // By 32-bit addresses from k: moving pointers would stand in the loads' way, whose addresses are read late.
  const arch::SharedCursor row = arch::shared_cursor(rows), column = arch::shared_cursor(columns);
  VDN_NO_UNROLL
  for (int k = 1; k < kStep; ++k) {
    turn_rank1(tile, x, 0, kTurnColumns / 2);
    turn_columns(x, arch::shared_place(column, k * kColumnPitch), 0, kTurnGroups / 2);
    arch::keep_order();  // else all loads wait for the end
    turn_rank1(tile, x, kTurnColumns / 2, kTurnColumns);
    turn_rows(x, arch::shared_place(row, k * kRowPitch));
    turn_columns(x, arch::shared_place(column, k * kColumnPitch), kTurnGroups / 2, kTurnGroups);
  }
  turn_last(tile, x, publish);
}

}  // namespace vdn_delta::tile
