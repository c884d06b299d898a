// SPDX-License-Identifier: Apache-2.0
//
// A pivot block before its elimination, where C lies row by row (pair, compact): the sums of pivot_form
// (phases/pivot.cuh, which has the rest of the chain) on 16-byte loads.
//
// Scope: one warp, one step ahead of the sweep team. Reads: the diagonal block as the sweep team published it one step
// early, the C panel, the pivot block before. Writes: the scratch in which the lanes exchange G. Exit: S in registers.
//
// Mathematics and the lanes' shares: those of phases/pivot.cuh.
// Cost: 251 clocks, pivot_factor behind it 1184, at N = 1 (bench --timeline, an H200); beside two warps of the sweep on
// its scheduler an instruction takes some eight clocks (docs/decisions/0007).
#pragma once

#include "arch/barrier.cuh"
#include "arch/ffma2.cuh"
#include "arch/vec_mem.cuh"
#include "arch/warp_math.cuh"
#include "phases/panels.h"
#include "phases/pivot.cuh"
#include "phases/square.cuh"
#include "phases/square_panels.h"
#include "shape.h"

namespace vdn_delta::phases {

// Block s from what it was before step s - 1: S' - G D^-1 G^T.
VDN_DEVICE PivotPair square_form(int lane, int s, const DiagBlock& diag, const SquareC& c, const PivotBlock& last,
                                 PivotScratch& scratch) {
  const int row = lane / 4, j = 2 * (lane % 4);
  float ci[kStep], wj[kStep], wk[kStep];
  square_load_row(ci, c.word + square_row_of_b(s / 2) + square_row_of_a(s % 2 * kStep + row));
  square_load_row(wj, last.w + j * kStep);
  square_load_row(wk, last.w + (j + 1) * kStep);
  float g0 = 0.0f, g1 = 0.0f;  // G of (row, j) and (row, j + 1)
  VDN_UNROLL
  for (int m = 0; m < kStep; ++m) {
    g0 = arch::ffma(ci[m], wj[m], g0);
    g1 = arch::ffma(ci[m], wk[m], g1);
  }
  arch::store_shared2(scratch.g + row * kGPitch + j, make_float2(g0, g1));
  float d[kStep], gi[kStep], gj[kStep], gk[kStep];
  const float2 before = arch::load_shared2(diag.word + row * kStep + j);
  square_load_row(d, last.d_inverse);
  arch::warp_sync();
  square_load_row(gi, scratch.g + row * kGPitch);
  square_load_row(gj, scratch.g + j * kGPitch);
  square_load_row(gk, scratch.g + (j + 1) * kGPitch);
  float s0 = 0.0f, s1 = 0.0f;
  VDN_UNROLL
  for (int k = 0; k < kStep; ++k) {
    const float gd = arch::fmul(gi[k], d[k]);
    s0 = arch::ffma(gd, gj[k], s0);
    s1 = arch::ffma(gd, gk[k], s1);
  }
  arch::warp_sync();  // scratch.g is free again
  return {arch::fadd(before.x, -s0), arch::fadd(before.y, -s1)};
}

}  // namespace vdn_delta::phases
