// SPDX-License-Identifier: Apache-2.0
//
// The registers in which one thread of the sweep team holds its share of a symmetric 128 x 128 matrix, and the rank-8
// update of them.
//
// Thread (r, c), 0 <= r < 8 and 0 <= c < 16, holds the elements (r + 8 p, c + 16 q) with p >= 2 q: 72 of its 16 x 8, so
// that 128 threads hold the lower triangle in equal shares. In the diagonal's blocks of 16 (p = 2 q and p = 2 q + 1)
// only the elements on and below the diagonal belong to the triangle; the others are never read, and computed only
// where that is simpler. Elements lie in pairs over q for the packed fma, but for those of which only the first is
// held.
//
//              q  0 1   2 3   4 5   6 7
//   p  0, 1     [D .]                      D: in a diagonal block. A pair with a D is block-summed: the eight products
//   p  2, 3     [x D]                      of a step from zero, then one add. The diagonal entries are the large ones,
//   p  4, 5     [x x] [D .]                and their rounding dominates the error of a straight sum (docs/numerics.md).
//   p  6, 7     [x x] [x D]
//   p  8, 9     [x x] [x x] [D .]
//   ...
#pragma once

#include "arch/ffma2.cuh"
#include "arch/vec_mem.cuh"
#include "arch/warp_math.cuh"
#include "shape.h"

namespace vdn_delta::tile {

constexpr int kPairs = kColumns / 2;

struct SweepTile {
  arch::Pair edge[kPairs];     // column 2 u, rows 4 u and 4 u + 1: a pair over p
  arch::Pair diag[kPairs][2];  // column pair u, rows 4 u + 2 and 4 u + 3
  arch::Pair below0[12];       // column pair 0, rows 4 .. 15
  arch::Pair below1[8];        // column pair 1, rows 8 .. 15
  arch::Pair below2[4];        // column pair 2, rows 12 .. 15
};

constexpr bool sweep_holds(int p, int q) { return p >= 2 * q; }
constexpr bool sweep_on_diagonal(int p, int q) { return p / 2 == q; }
constexpr bool sweep_on_edge(int p, int u) { return p / 2 == 2 * u; }  // of pair u, only the first is held

// The pair with elements (p, 2 u) and (p, 2 u + 1), not on the edge. p, u and q are known at compile time.
template <class Tile>  // const or not
VDN_DEVICE auto& sweep_pair(Tile& tile, int p, int u) {
  if (u == p / 4) return tile.diag[u][p % 2];
  if (u == 0) return tile.below0[p - 4];
  if (u == 1) return tile.below1[p - 8];
  return tile.below2[p - 12];
}
VDN_DEVICE float sweep_element(const SweepTile& tile, int p, int q) {
  const bool edge = sweep_on_edge(p, q / 2);
  const float2 v = arch::pair_values(edge ? tile.edge[q / 2] : sweep_pair(tile, p, q / 2));
  return (edge ? p : q) % 2 == 0 ? v.x : v.y;
}
VDN_DEVICE void sweep_set_half(arch::Pair& pair, int half, float x) {
  const float2 v = arch::pair_values(pair);
  pair = half == 0 ? arch::make_pair(x, v.y) : arch::make_pair(v.x, x);
}
// Elements (p, 2 u) and (p, 2 u + 1), of which the second may not be held.
VDN_DEVICE void sweep_set(SweepTile& tile, int p, int u, float x, float y) {
  if (sweep_on_edge(p, u))
    sweep_set_half(tile.edge[u], p % 2, x);
  else
    sweep_pair(tile, p, u) = arch::make_pair(x, y);
}
VDN_DEVICE void sweep_clear(SweepTile& tile, int p, int q) {
  if (sweep_on_edge(p, q / 2))
    sweep_set_half(tile.edge[q / 2], p % 2, 0.0f);
  else
    sweep_set_half(sweep_pair(tile, p, q / 2), q % 2, 0.0f);
}

// The block sums of a column pair: two on the edge, two pairs.
struct SweepSum {
  arch::Pair edge;
  arch::Pair diag[2];
};
VDN_DEVICE void sweep_zero(SweepSum& sum) { sum.edge = sum.diag[0] = sum.diag[1] = arch::make_pair(0.0f, 0.0f); }
template <int u, bool whole>
VDN_DEVICE void sweep_add(SweepTile& tile, const SweepSum& sum) {
  if constexpr (whole) {
    tile.edge[u] = arch::fadd2(tile.edge[u], sum.edge);
    tile.diag[u][0] = arch::fadd2(tile.diag[u][0], sum.diag[0]);
  } else {
    sweep_set_half(tile.edge[u], 1, arch::fadd(arch::pair_values(tile.edge[u]).y, arch::pair_values(sum.edge).y));
    sweep_set_half(tile.diag[u][0], 0,
                   arch::fadd(arch::pair_values(tile.diag[u][0]).x, arch::pair_values(sum.diag[0]).x));
  }
  tile.diag[u][1] = arch::fadd2(tile.diag[u][1], sum.diag[1]);
}

// half += a b
VDN_DEVICE void sweep_ffma_half(arch::Pair& pair, int half, float a, float b) {
  const float2 v = arch::pair_values(pair);
  sweep_set_half(pair, half, arch::ffma(a, b, half == 0 ? v.x : v.y));
}

// The products of one k with column 2 u that are summed apart: rows 4 u and 4 u + 1, and row 4 u + 2 where its pair
// with column 2 u + 1 is not wanted.
template <bool whole>
VDN_DEVICE void sweep_edge(SweepSum& sum, float b, float a0, float a1, float a2) {
  if constexpr (whole) {
    arch::Pair edge[1] = {sum.edge};
    arch::ffma2_row(edge, b, {make_float2(a0, a1)});
    sum.edge = edge[0];
  } else {
    sweep_ffma_half(sum.edge, 1, a1, b);
    sweep_ffma_half(sum.diag[0], 0, a2, b);
  }
}

// The products of one k with a pair of columns: rows 4 u .. 4 u + 3 and 4 v .. 4 v + 3, those that hold the pair. If
// not `whole`, without the elements p = 2 q.
template <int u, int v, int pair, bool whole>
VDN_DEVICE void sweep_columns(SweepTile& tile, SweepSum& sum_u, SweepSum& sum_v, const float (&a)[8], float2 b) {
  constexpr int diagonal = whole ? 2 : 3;  // the first row of four whose pair on the diagonal is summed as a pair
  constexpr int from_u = u > pair ? 0 : u == pair ? diagonal : 4, from_v = v > pair ? 0 : v == pair ? diagonal : 4;
  constexpr int rows_u = 4 - from_u, rows = rows_u + 4 - from_v;
  if constexpr (rows > 0) {
    arch::Pair acc[rows];
    float mine[rows];
    VDN_UNROLL
    for (int i = 0; i < rows; ++i) {
      const bool first = i < rows_u;
      const int row = first ? from_u + i : from_v + i - rows_u;
      mine[i] = a[first ? row : 4 + row];
      acc[i] = first ? (u == pair ? sum_u.diag[row - 2] : sweep_pair(tile, 4 * u + row, pair))
                     : (v == pair ? sum_v.diag[row - 2] : sweep_pair(tile, 4 * v + row, pair));
    }
    arch::ffma2_column(acc, mine, b);
    VDN_UNROLL
    for (int i = 0; i < rows; ++i) {
      const bool first = i < rows_u;
      const int row = first ? from_u + i : from_v + i - rows_u;
      (first ? (u == pair ? sum_u.diag[row - 2] : sweep_pair(tile, 4 * u + row, pair))
             : (v == pair ? sum_v.diag[row - 2] : sweep_pair(tile, 4 * v + row, pair))) = acc[i];
    }
  }
  if constexpr (u == pair) sweep_edge<whole>(sum_u, b.x, a[0], a[1], a[2]);
  if constexpr (v == pair) sweep_edge<whole>(sum_v, b.x, a[4], a[5], a[6]);
}
// One k in rows 4 u .. 4 u + 3 and, with less columns, 4 v .. 4 v + 3.
template <int u, int v, bool whole>
VDN_DEVICE void sweep_rank1(SweepTile& tile, SweepSum& sum_u, SweepSum& sum_v, const float* rows,
                            const float* columns) {
  const float4 x = arch::load_shared4(rows + u * 4 * kRowCycle), y = arch::load_shared4(rows + v * 4 * kRowCycle);
  const float4 lo = arch::load_shared4(columns), hi = arch::load_shared4(columns + 4 * kColumnCycle);
  const float a[8] = {x.x, x.y, x.z, x.w, y.x, y.y, y.z, y.w};
  sweep_columns<u, v, 0, whole>(tile, sum_u, sum_v, a, make_float2(lo.y, lo.x));
  sweep_columns<u, v, 1, whole>(tile, sum_u, sum_v, a, make_float2(lo.w, lo.z));
  sweep_columns<u, v, 2, whole>(tile, sum_u, sum_v, a, make_float2(hi.y, hi.x));
  sweep_columns<u, v, 3, whole>(tile, sum_u, sum_v, a, make_float2(hi.w, hi.z));
}
// tile(p, q) += sum over k = 0..7 of rows[k][p] * columns[k][q]. `rows` and `columns` point at this thread's first word
// in panel row 0; the pitches are in words. In two passes of half of the rows each, so that half of the block sums are
// alive at a time: 8 loads for each k instead of 6, and 12 registers less.
template <int u, int v, bool whole, int kRowPitch, int kColumnPitch>
VDN_DEVICE void sweep_pass(SweepTile& tile, const float* rows, const float* columns) {
  SweepSum sum_u, sum_v;
  sweep_zero(sum_u), sweep_zero(sum_v);
  arch::SharedCursor row = arch::shared_cursor(rows), column = arch::shared_cursor(columns);
  const arch::SharedCursor end = arch::shared_cursor(columns + (kStep - 2) * kColumnPitch);
  VDN_UNROLL
  for (int k = 0; k < 2; ++k)
    sweep_rank1<u, v, whole>(tile, sum_u, sum_v, rows + k * kRowPitch, columns + k * kColumnPitch);
  VDN_NO_UNROLL
  do {
    VDN_UNROLL
    for (int k = 2; k < 4; ++k)
      sweep_rank1<u, v, whole>(tile, sum_u, sum_v, arch::shared_place(row) + k * kRowPitch,
                               arch::shared_place(column) + k * kColumnPitch);
    arch::advance<2 * kRowPitch>(row);
    arch::advance<2 * kColumnPitch>(column);
  } while (column != end);
  sweep_add<u, whole>(tile, sum_u), sweep_add<v, whole>(tile, sum_v);
}
// If not `whole`, the elements p = 2 q are left as they are: of a warp whose columns c are all 8 or more, they lie
// above the diagonal. Where products come in pairs that saves nothing.
template <int kRowPitch, int kColumnPitch>
VDN_DEVICE void sweep_update(SweepTile& tile, bool whole, const float* rows, const float* columns) {
  if (whole || arch::kPackedFma) {
    sweep_pass<2, 1, true, kRowPitch, kColumnPitch>(tile, rows, columns);
    sweep_pass<3, 0, true, kRowPitch, kColumnPitch>(tile, rows, columns);
  } else {
    sweep_pass<2, 1, false, kRowPitch, kColumnPitch>(tile, rows, columns);
    sweep_pass<3, 0, false, kRowPitch, kColumnPitch>(tile, rows, columns);
  }
}

}  // namespace vdn_delta::tile
