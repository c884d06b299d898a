// SPDX-License-Identifier: Apache-2.0
//
// The registers in which one thread of the sweep team holds its share of a symmetric 128 x 128 matrix, and the rank-8
// update of them.
//
// Thread (r, c), 0 <= r < 8 and 0 <= c < 16, holds the elements (r + 8 p, c + 16 q) with p >= 2 q: 72 of its 16 x 8, so
// that 128 threads hold the lower triangle in equal shares. In the diagonal's blocks of 16 (p = 2 q and p = 2 q + 1)
// only the elements on and below the diagonal belong to the triangle; the others are computed and never read. Elements
// lie in pairs over q for the packed fma; where only the first of a pair is held, the second is never read either.
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
#include "shape.h"

namespace vdn_delta::tile {

constexpr int kPairs = kColumns / 2;

struct SweepTile {
  arch::Pair diag[kPairs][4];  // column pair u, rows 4 u .. 4 u + 3
  arch::Pair below0[12];       // column pair 0, rows 4 .. 15
  arch::Pair below1[8];        // column pair 1, rows 8 .. 15
  arch::Pair below2[4];        // column pair 2, rows 12 .. 15
};

constexpr bool sweep_holds(int p, int q) { return p >= 2 * q; }
constexpr bool sweep_on_diagonal(int p, int q) { return p / 2 == q; }

// The pair with elements (p, 2 u) and (p, 2 u + 1); element (p, q). p, u and q are known at compile time.
template <class Tile>  // const or not
VDN_DEVICE auto& sweep_pair(Tile& tile, int p, int u) {
  if (u == p / 4) return tile.diag[u][p % 4];
  if (u == 0) return tile.below0[p - 4];
  if (u == 1) return tile.below1[p - 8];
  return tile.below2[p - 12];
}
VDN_DEVICE float sweep_element(const SweepTile& tile, int p, int q) {
  const float2 v = arch::pair_values(sweep_pair(tile, p, q / 2));
  return q % 2 == 0 ? v.x : v.y;
}
VDN_DEVICE void sweep_clear(SweepTile& tile, int p, int q) {
  arch::Pair& pair = sweep_pair(tile, p, q / 2);
  const float2 v = arch::pair_values(pair);
  pair = q % 2 == 0 ? arch::make_pair(0.0f, v.y) : arch::make_pair(v.x, 0.0f);
}

// The two operands of one k: the thread's 16 rows and its 8 columns.
struct SweepOperands {
  float4 a[4], b[2];
};
template <int kRowPitch, int kColumnPitch>
VDN_DEVICE SweepOperands sweep_operands(const float* rows, const float* columns, int k) {
  SweepOperands x;
  VDN_UNROLL
  for (int g = 0; g < 4; ++g) x.a[g] = arch::load_shared4(rows + k * kRowPitch + g * 4 * kRowCycle);
  VDN_UNROLL
  for (int g = 0; g < 2; ++g) x.b[g] = arch::load_shared4(columns + k * kColumnPitch + g * 4 * kColumnCycle);
  return x;
}

VDN_DEVICE void sweep_rank1(SweepTile& tile, arch::Pair (&sum)[kPairs][4], const SweepOperands& x) {
  const float4 &a0 = x.a[0], &a1 = x.a[1], &a2 = x.a[2], &a3 = x.a[3];
  const float2 b0 = make_float2(x.b[0].y, x.b[0].x), b1 = make_float2(x.b[0].w, x.b[0].z);
  const float2 b2 = make_float2(x.b[1].y, x.b[1].x), b3 = make_float2(x.b[1].w, x.b[1].z);
  arch::ffma2_column(sum[2], {a2.x, a2.y, a2.z, a2.w}, b2);
  arch::ffma2_column(sum[0], {a0.x, a0.y, a0.z, a0.w}, b0);
  arch::ffma2_column(tile.below1, {a2.x, a2.y, a2.z, a2.w, a3.x, a3.y, a3.z, a3.w}, b1);
  arch::ffma2_column(tile.below2, {a3.x, a3.y, a3.z, a3.w}, b2);
  arch::ffma2_column(sum[1], {a1.x, a1.y, a1.z, a1.w}, b1);
  arch::ffma2_column(tile.below0, {a1.x, a1.y, a1.z, a1.w, a2.x, a2.y, a2.z, a2.w, a3.x, a3.y, a3.z, a3.w}, b0);
  arch::ffma2_column(sum[3], {a3.x, a3.y, a3.z, a3.w}, b3);
}

// tile(p, q) += sum over k = 0..7 of rows[k][p] * columns[k][q]. `rows` and `columns` point at this thread's first word
// in panel row 0; the pitches are in words.
template <int kRowPitch, int kColumnPitch>
VDN_DEVICE void sweep_update(SweepTile& tile, const float* rows, const float* columns) {
  arch::Pair sum[kPairs][4];
  VDN_UNROLL
  for (int u = 0; u < kPairs; ++u) {
    VDN_UNROLL
    for (int i = 0; i < 4; ++i) sum[u][i] = arch::make_pair(0.0f, 0.0f);
  }
  VDN_UNROLL_BY(2)
  for (int k = 0; k < kStep; ++k) sweep_rank1(tile, sum, sweep_operands<kRowPitch, kColumnPitch>(rows, columns, k));
  VDN_UNROLL
  for (int u = 0; u < kPairs; ++u) {
    VDN_UNROLL
    for (int i = 0; i < 4; ++i) tile.diag[u][i] = arch::fadd2(tile.diag[u][i], sum[u][i]);
  }
}

}  // namespace vdn_delta::tile
