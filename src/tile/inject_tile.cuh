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

VDN_DEVICE float inject_element(const InjectTile& tile, int row, int q) {
  const float2 v = arch::pair_values(tile.acc[q / 2][row]);
  return q % 2 == 0 ? v.x : v.y;
}
VDN_DEVICE void inject_clear(InjectTile& tile, int row, int q) {
  const float2 v = arch::pair_values(tile.acc[q / 2][row]);
  tile.acc[q / 2][row] = q % 2 == 0 ? arch::make_pair(0.0f, v.y) : arch::make_pair(v.x, 0.0f);
}

// tile(row, q) += sum over k = 0..7 of rows[k][row] * columns[k][q], straight. `rows` and `columns` point at this
// thread's first word in panel row 0; the pitches are in words. Operands of k + 1 are loaded as soon as those of k are
// used up, half a k ahead.
template <int kRowPitch, int kColumnPitch>
VDN_DEVICE void inject_update(InjectTile& tile, const float* rows, const float* columns) {
  float4 a0 = arch::load_shared4(rows), a1 = arch::load_shared4(rows + 4);
  float4 b0 = arch::load_shared4(columns), b1 = arch::load_shared4(columns + kDim / 2);
  VDN_UNROLL_BY(2)
  for (int k = 0; k < kStep; ++k) {
    const float a[kInjectRows] = {a0.x, a0.y, a0.z, a0.w, a1.x, a1.y, a1.z, a1.w};
    arch::ffma2_column(tile.acc[0], a, make_float2(b0.x, b0.y));
    arch::ffma2_column(tile.acc[1], a, make_float2(b0.z, b0.w));
    rows += kRowPitch;
    columns += kColumnPitch;
    if (k + 1 < kStep) {
      b0 = arch::load_shared4(columns);
      a0 = arch::load_shared4(rows);
      a1 = arch::load_shared4(rows + 4);
    }
    arch::ffma2_column(tile.acc[2], a, make_float2(b1.x, b1.y));
    arch::ffma2_column(tile.acc[3], a, make_float2(b1.z, b1.w));
    if (k + 1 < kStep) b1 = arch::load_shared4(columns + kDim / 2);
  }
}

}  // namespace vdn_delta::tile
