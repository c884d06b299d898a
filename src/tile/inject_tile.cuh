// SPDX-License-Identifier: Apache-2.0
//
// The registers in which one thread of the injection team holds its share of B, later J, and the rank-8 update of them.
//
// A warp owns 16 rows and all 128 columns; lane (h, c), h in 0..1 and 0 <= c < 16, holds rows 8 h .. 8 h + 7 of them and
// the columns c + 16 q. Columns lie in pairs over q for the packed fma.
#pragma once

#include "arch/ffma2.cuh"
#include "arch/vec_mem.cuh"
#include "shape.h"
#include "tile/sweep_tile.cuh"

namespace vdn_delta::tile {

constexpr int kInjectRows = 8;

struct InjectTile {
  arch::Pair acc[kPerThread / 2][kInjectRows];  // [pair of columns][row]
};

VDN_DEVICE float inject_element(InjectTile& tile, int row, int q) {
  const float2 v = arch::pair_values(tile.acc[q / 2][row]);
  return q % 2 == 0 ? v.x : v.y;
}
VDN_DEVICE void inject_clear(InjectTile& tile, int row, int q) {
  const float2 v = arch::pair_values(tile.acc[q / 2][row]);
  tile.acc[q / 2][row] = q % 2 == 0 ? arch::make_pair(0.0f, v.y) : arch::make_pair(v.x, 0.0f);
}

// tile(row, q) += sum over k = 0..7 of rows[k][row] * columns[k][q], straight.
template <int kRowPitch, int kColumnPitch, int kUnroll>
VDN_DEVICE void inject_update(InjectTile& tile, const float* rows, const float* columns) {
  VDN_UNROLL_BY(kUnroll)
  for (int k = 0; k < kStep; ++k) {
    const float4 a0 = arch::load_shared4(rows + k * kRowPitch);
    const float4 a1 = arch::load_shared4(rows + k * kRowPitch + 4);
    const float4 b0 = arch::load_shared4(columns + k * kColumnPitch);
    const float4 b1 = arch::load_shared4(columns + k * kColumnPitch + kDim / 2);
    const float a[kInjectRows] = {a0.x, a0.y, a0.z, a0.w, a1.x, a1.y, a1.z, a1.w};
    VDN_UNROLL
    for (int u = 0; u < kPerThread / 2; ++u) arch::ffma2_column(tile.acc[u], a, component2(b0, b1, u));
  }
}

}  // namespace vdn_delta::tile
