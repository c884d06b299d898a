// SPDX-License-Identifier: Apache-2.0
//
// The registers in which one of 256 threads holds its share of a symmetric 128 x 128 matrix, and its rank-8 update.
//
// Thread (r, c), 0 <= r, c < 16, holds the elements (r + 16 p, c + 16 q) with p >= q: 36 of its 8 x 8, so that 256
// threads hold the lower triangle in equal shares. In the diagonal's blocks of 16 (p = q) only the elements on and
// below the diagonal, r >= c, belong to the triangle; the others are computed and never read. Elements lie in pairs
// over q for the packed fma; where only the first of a pair is held, the second is never read either.
//
//            q  0 1   2 3   4 5   6 7
//   p  0       [D .]                      D: in a diagonal block of 32. A pair with a D is block-summed: the eight
//   p  1       [D D]                      products of a step from zero, then one add (tile/sweep_tile.cuh says why).
//   p  2       [x x] [D .]                They are the same elements as there, and so are the bits.
//   p  3       [x x] [D D]
//   p  4       [x x] [x x] [D .]
//   ...
#pragma once

#include "arch/ffma2.cuh"
#include "arch/vec_mem.cuh"
#include "shape.h"

namespace vdn_delta::tile {

constexpr int kSquareRows = kDim / kColumnCycle;  // p and q: 0 .. 7
constexpr int kSquarePairs = kSquareRows / 2;

struct SquareTile {
  arch::Pair diag[kSquarePairs][2];  // column pair u, rows 2 u and 2 u + 1
  arch::Pair below0[6];              // column pair 0, rows 2 .. 7
  arch::Pair below1[4];              // column pair 1, rows 4 .. 7
  arch::Pair below2[2];              // column pair 2, rows 6 and 7
};

// The pair with elements (p, 2 u) and (p, 2 u + 1); element (p, q). p, u and q are known at compile time, p >= 2 u.
template <class Tile>  // const or not
VDN_DEVICE auto& square_pair(Tile& tile, int p, int u) {
  if (u == p / 2) return tile.diag[u][p % 2];
  if (u == 0) return tile.below0[p - 2];
  if (u == 1) return tile.below1[p - 4];
  return tile.below2[p - 6];
}
VDN_DEVICE float square_element(const SquareTile& tile, int p, int q) {
  const float2 v = arch::pair_values(square_pair(tile, p, q / 2));
  return q % 2 == 0 ? v.x : v.y;
}
VDN_DEVICE void square_set(SquareTile& tile, int p, int q, float value) {
  arch::Pair& pair = square_pair(tile, p, q / 2);
  const float2 v = arch::pair_values(pair);
  pair = q % 2 == 0 ? arch::make_pair(value, v.y) : arch::make_pair(v.x, value);
}

// The operands of one k: a thread's eight rows and eight columns, each two runs of four words (square_word).
struct SquareOperands {
  float4 a[2], b[2];
};
template <int kRowPitch, int kColumnPitch>
VDN_DEVICE SquareOperands square_operands(const float* rows, const float* columns, int k) {
  SquareOperands x;
  VDN_UNROLL
  for (int g = 0; g < 2; ++g) x.a[g] = arch::load_shared4(rows + k * kRowPitch + g * 4 * kColumnCycle);
  VDN_UNROLL
  for (int g = 0; g < 2; ++g) x.b[g] = arch::load_shared4(columns + k * kColumnPitch + g * 4 * kColumnCycle);
  return x;
}

// One k, a column of pairs at a time. Columns come with neighbours changed (column_word). Which columns follow one
// another does not matter to the sums; this order is one that ptxas places into register banks well
// (docs/decisions/0003).
VDN_DEVICE void square_rank1(SquareTile& tile, arch::Pair (&sum)[kSquarePairs][2], const SquareOperands& x) {
  const float4 &a0 = x.a[0], &a1 = x.a[1];
  const float2 b0 = make_float2(x.b[0].y, x.b[0].x), b1 = make_float2(x.b[0].w, x.b[0].z);
  const float2 b2 = make_float2(x.b[1].y, x.b[1].x), b3 = make_float2(x.b[1].w, x.b[1].z);
  arch::ffma2_column(sum[0], {a0.x, a0.y}, b0);
  arch::ffma2_column(tile.below1, {a1.x, a1.y, a1.z, a1.w}, b1);
  arch::ffma2_column(tile.below0, {a0.z, a0.w, a1.x, a1.y, a1.z, a1.w}, b0);
  arch::ffma2_column(tile.below2, {a1.z, a1.w}, b2);
  arch::ffma2_column(sum[2], {a1.x, a1.y}, b2);
  arch::ffma2_column(sum[1], {a0.z, a0.w}, b1);
  arch::ffma2_column(sum[3], {a1.z, a1.w}, b3);
}

// tile(p, q) += sum over k = 0..7 of rows[k][p] * columns[k][q]. `rows` and `columns` point at this thread's first word
// in panel row 0; the pitches are in words. `kUnroll` k stand in a row: all eight where registers allow
// (docs/decisions/0007), one in the compact kernel (docs/decisions/0009).
template <int kRowPitch, int kColumnPitch, int kUnroll>
VDN_DEVICE void square_update(SquareTile& tile, const float* rows, const float* columns) {
  arch::Pair sum[kSquarePairs][2];
  VDN_UNROLL
  for (int u = 0; u < kSquarePairs; ++u) sum[u][0] = sum[u][1] = arch::make_pair(0.0f, 0.0f);
  VDN_UNROLL_BY(kUnroll)
  for (int k = 0; k < kStep; ++k) square_rank1(tile, sum, square_operands<kRowPitch, kColumnPitch>(rows, columns, k));
  VDN_UNROLL
  for (int u = 0; u < kSquarePairs; ++u) {
    VDN_UNROLL
    for (int i = 0; i < 2; ++i) tile.diag[u][i] = arch::fadd2(tile.diag[u][i], sum[u][i]);
  }
}

}  // namespace vdn_delta::tile
