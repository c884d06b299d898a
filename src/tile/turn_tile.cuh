// SPDX-License-Identifier: Apache-2.0
//
// The registers in which one thread of the injection team holds its share of B, later J, and the rank-8 update of them,
// where four warps share B.
//
// A warp owns 32 rows and all 128 columns; lane (h, c), 0 <= h < 4 and 0 <= c < 8, holds rows 8 h .. 8 h + 7 of them and
// the columns c + 8 q, so that each step's eight columns are one column of every lane. Registers cannot be indexed at
// run time, so the tile turns: in step s, acc[q] holds the columns c + 8 ((q + s) % 16), and a step's columns are always
// acc[0]. The update's last k writes its sums one place further; after 16 steps everything is where it was.
// Rows lie in pairs for the packed fma.
#pragma once

#include "arch/ffma2.cuh"
#include "arch/vec_mem.cuh"
#include "shape.h"

namespace vdn_delta::tile {

constexpr int kTurnRows = 8;  // of a thread
constexpr int kTurnPairs = kTurnRows / 2;
constexpr int kTurnColumns = kDim / kTurnCycle;  // 16
constexpr int kTurnGroups = kTurnColumns / 4;    // of four columns: a 16-byte word

struct TurnTile {
  arch::Pair acc[kTurnColumns][kTurnPairs];  // [column][pair of rows]
};

VDN_DEVICE float turn_element(const TurnTile& tile, int row, int q) {
  const float2 v = arch::pair_values(tile.acc[q][row / 2]);
  return row % 2 == 0 ? v.x : v.y;
}

using TurnRows = float4[2];

// The rows' operands of one k.
VDN_DEVICE void turn_rows(TurnRows& a, const float* rows) {
  VDN_UNROLL
  for (int g = 0; g < 2; ++g) a[g] = arch::load_shared4(rows + 4 * g);
}
VDN_DEVICE float turn_column(const float4& b, int i) { return i == 0 ? b.x : i == 1 ? b.y : i == 2 ? b.z : b.w; }
VDN_DEVICE float4 turn_columns(const float* columns, int g) {
  return arch::load_shared4(columns + g * 4 * kTurnCycle);
}

// One k in two halves of the rows: behind the first its rows' operands of the next k, and in the second behind each four
// columns theirs, if there is a next k. Nothing is waited for in less than half a k. The last k turns the tile by one
// column.
template <int kRowPitch, int kColumnPitch, bool last>
VDN_DEVICE void turn_rank1(TurnTile& tile, TurnRows& a, float4 (&b)[kTurnGroups], const float* rows,
                           const float* columns) {
  VDN_UNROLL
  for (int half = 0; half < 2; ++half) {
    const float2 mine[2] = {make_float2(a[half].x, a[half].y), make_float2(a[half].z, a[half].w)};
    arch::Pair first[2];
    VDN_UNROLL
    for (int q = 0; q < kTurnColumns; ++q) {
      arch::Pair(&from)[kTurnPairs] = tile.acc[q];
      const float column = turn_column(b[q / 4], q % 4);
      if (!last) {
        arch::Pair part[2] = {from[2 * half], from[2 * half + 1]};
        if (q % 2 == 0)
          arch::ffma2_row(part, column, mine);
        else
          arch::ffma2_row_back(part, column, mine);
        from[2 * half] = part[0], from[2 * half + 1] = part[1];
      } else {
        VDN_UNROLL
        for (int u = 0; u < 2; ++u)
          (q == 0 ? first[u] : tile.acc[q - 1][2 * half + u]) = arch::ffma2(from[2 * half + u], column, mine[u]);
      }
      if (!last && half == 1 && q % 4 == 3) b[q / 4] = turn_columns(columns + kColumnPitch, q / 4);
    }
    if (last) {
      VDN_UNROLL
      for (int u = 0; u < 2; ++u) tile.acc[kTurnColumns - 1][2 * half + u] = first[u];
    } else {
      a[half] = arch::load_shared4(rows + kRowPitch + 4 * half);
    }
  }
}

#ifndef TL
#define TL 1
#endif
// The last k by itself: column after column, each of which takes the place of the one before.
VDN_DEVICE void turn_last(TurnTile& tile, const TurnRows& a, const float4 (&b)[kTurnGroups]) {
  const float2 rows[kTurnPairs] = {make_float2(a[0].x, a[0].y), make_float2(a[0].z, a[0].w),
                                   make_float2(a[1].x, a[1].y), make_float2(a[1].z, a[1].w)};
  arch::Pair first[kTurnPairs];
#if TL == 1
  VDN_UNROLL
  for (int q = 0; q < kTurnColumns; ++q) {
    VDN_UNROLL
    for (int u = 0; u < kTurnPairs; ++u)
      (q == 0 ? first[u] : tile.acc[q - 1][u]) = arch::ffma2(tile.acc[q][u], turn_column(b[q / 4], q % 4), rows[u]);
  }
#else
  VDN_UNROLL
  for (int u = 0; u < kTurnPairs; ++u) {
    VDN_UNROLL
    for (int q = 0; q < kTurnColumns; ++q)
      (q == 0 ? first[u] : tile.acc[q - 1][u]) = arch::ffma2(tile.acc[q][u], turn_column(b[q / 4], q % 4), rows[u]);
  }
#endif
  VDN_UNROLL
  for (int u = 0; u < kTurnPairs; ++u) tile.acc[kTurnColumns - 1][u] = first[u];
}

// tile(row, q) += sum over k = 0..7 of rows[k][row] * columns[k][q], straight. `rows` and `columns` point at this
// thread's first word in panel row 0; the pitches are in words; `a` holds the rows' operands of k = 0.
template <int kRowPitch, int kColumnPitch>
VDN_DEVICE void turn_update(TurnTile& tile, TurnRows& a, const float* rows, const float* columns) {
  float4 b[kTurnGroups];
  VDN_UNROLL
  for (int g = 0; g < kTurnGroups; ++g) b[g] = turn_columns(columns, g);
  VDN_NO_UNROLL
  for (int k = 0; k + 1 < kStep; ++k) {
    turn_rank1<kRowPitch, kColumnPitch, false>(tile, a, b, rows, columns);
    rows += kRowPitch;
    columns += kColumnPitch;
  }
#if TL
  turn_last(tile, a, b);
#else
  turn_rank1<kRowPitch, kColumnPitch, true>(tile, a, b, rows, columns);
#endif
}

}  // namespace vdn_delta::tile
