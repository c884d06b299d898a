// SPDX-License-Identifier: Apache-2.0
//
// The registers in which one thread of the sweep team holds its share of a symmetric 128 x 128 matrix, and the rank-8
// update of them.
//
// Thread (r, c), 0 <= r, c < 16, holds the elements (r + 16 p, c + 16 q) with p >= q: 36 of its 8 x 8, so that the 256
// threads hold the lower triangle in equal shares. On the diagonal (p = q) only r >= c belongs to the triangle; the
// other threads' elements there are computed and never read. Elements of one p lie in pairs over q for the packed fma;
// for even p the last pair has one element beyond the triangle, which is never read either.
//
//        q  0 1   2 3   4 5   6 7
//   p 0    [D .]                        D: on the diagonal. A pair with a D is block-summed: the eight products of a
//   p 1    [x D]                        step from zero, then one add. The diagonal entries are the large ones, and
//   p 2    [x x] [D .]                  their rounding dominates the error of a straight sum (docs/numerics.md).
//   p 3    [x x] [x D]
//   ...
#pragma once

#include "arch/ffma2.cuh"
#include "arch/vec_mem.cuh"
#include "shape.h"

namespace vdn_delta::tile {

struct SweepTile {
  arch::Pair diag[kPerThread / 2][2];  // column pair u, rows 2 u and 2 u + 1
  arch::Pair below0[6];                // column pair 0, rows 2 .. 7
  arch::Pair below1[4];                // column pair 1, rows 4 .. 7
  arch::Pair below2[2];                // column pair 2, rows 6 and 7
};

// The pair with elements (p, 2 u) and (p, 2 u + 1); element (p, q). p, u and q are known at compile time.
template <class Tile>  // const or not
VDN_DEVICE auto& sweep_pair(Tile& tile, int p, int u) {
  if (u == p / 2) return tile.diag[u][p % 2];
  if (u == 0) return tile.below0[p - 2];
  if (u == 1) return tile.below1[p - 4];
  return tile.below2[p - 6];
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

VDN_DEVICE float component(const float4& lo, const float4& hi, int i) {
  switch (i) {
    case 0: return lo.x;
    case 1: return lo.y;
    case 2: return lo.z;
    case 3: return lo.w;
    case 4: return hi.x;
    case 5: return hi.y;
    case 6: return hi.z;
    default: return hi.w;
  }
}

VDN_DEVICE float2 component2(const float4& lo, const float4& hi, int u) {
  switch (u) {
    case 0: return make_float2(lo.x, lo.y);
    case 1: return make_float2(lo.z, lo.w);
    case 2: return make_float2(hi.x, hi.y);
    default: return make_float2(hi.z, hi.w);
  }
}

// The two operands of one k: the thread's eight rows and its eight columns.
struct SweepOperands {
  float4 a0, a1, b0, b1;
};
template <int kRowPitch, int kColumnPitch>
VDN_DEVICE SweepOperands sweep_operands(const float* rows, const float* columns, int k) {
  return {arch::load_shared4(rows + k * kRowPitch), arch::load_shared4(rows + k * kRowPitch + kDim / 2),
          arch::load_shared4(columns + k * kColumnPitch), arch::load_shared4(columns + k * kColumnPitch + kDim / 2)};
}

VDN_DEVICE void sweep_rank1(SweepTile& tile, arch::Pair (&sum)[kPerThread / 2][2], const SweepOperands& x) {
  arch::ffma2_column(sum[0], {x.a0.x, x.a0.y}, make_float2(x.b0.x, x.b0.y));
  arch::ffma2_column(tile.below0, {x.a0.z, x.a0.w, x.a1.x, x.a1.y, x.a1.z, x.a1.w}, make_float2(x.b0.x, x.b0.y));
  arch::ffma2_column(sum[1], {x.a0.z, x.a0.w}, make_float2(x.b0.z, x.b0.w));
  arch::ffma2_column(tile.below1, {x.a1.x, x.a1.y, x.a1.z, x.a1.w}, make_float2(x.b0.z, x.b0.w));
  arch::ffma2_column(sum[2], {x.a1.x, x.a1.y}, make_float2(x.b1.x, x.b1.y));
  arch::ffma2_column(tile.below2, {x.a1.z, x.a1.w}, make_float2(x.b1.x, x.b1.y));
  arch::ffma2_column(sum[3], {x.a1.z, x.a1.w}, make_float2(x.b1.z, x.b1.w));
}

// tile(p, q) += sum over k = 0..7 of rows[k][p] * columns[k][q]. `rows` and `columns` point at this thread's first word
// in panel row 0; the pitches are in words. The operands of k + 1 are loaded before the products of k.
template <int kRowPitch, int kColumnPitch>
VDN_DEVICE void sweep_update(SweepTile& tile, const float* rows, const float* columns) {
  arch::Pair sum[kPerThread / 2][2];
  VDN_UNROLL
  for (int u = 0; u < kPerThread / 2; ++u) sum[u][0] = sum[u][1] = arch::make_pair(0.0f, 0.0f);
  SweepOperands even = sweep_operands<kRowPitch, kColumnPitch>(rows, columns, 0);
  VDN_NO_UNROLL
  for (int k = 0; k < kStep; k += 2) {
    const SweepOperands odd = sweep_operands<kRowPitch, kColumnPitch>(rows, columns, k + 1);
    sweep_rank1(tile, sum, even);
    if (k + 2 < kStep) even = sweep_operands<kRowPitch, kColumnPitch>(rows, columns, k + 2);
    sweep_rank1(tile, sum, odd);
  }
  VDN_UNROLL
  for (int u = 0; u < kPerThread / 2; ++u) {
    tile.diag[u][0] = arch::fadd2(tile.diag[u][0], sum[u][0]);
    tile.diag[u][1] = arch::fadd2(tile.diag[u][1], sum[u][1]);
  }
}

}  // namespace vdn_delta::tile
