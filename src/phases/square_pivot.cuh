// SPDX-License-Identifier: Apache-2.0
//
// The serial chain for latency: each step's 8 x 8 pivot block by one warp, one step ahead of the sweep team. The same
// sums as phases/pivot.cuh, in fewer instructions.
//
// Scope: one warp. Block 0 comes from pivot_load (phases/pivot.cuh).
// Reads: the diagonal block as the sweep team published it one step early, the C panel, the pivot block before.
// Writes: W = L^-1 and 1 / d of S = L D L^T; the scratch in which the lanes exchange G.
// Entry: nothing in registers for square_form, S for square_factor. Exit: S; the pivots and their reciprocals, which
// square_bad looks at.
//
// Mathematics and the lanes' shares: those of phases/pivot.cuh.
// Cost: square_form 251 clocks, square_factor 1184 at N = 1 (bench --timeline, an H200); beside two warps of the sweep
// on its scheduler an instruction takes some eight clocks (docs/decisions/0007).
#pragma once

#include <cfloat>

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

struct SquarePivots {
  float d[kStep], inverse[kStep];  // in every lane
};

// As pivot_factor, with as few instructions as can be. Rows up to the pivot's are dead but for W's part of them, which
// a multiplier of zero leaves as it is. The pivots are looked at later (square_bad), off the chain.
VDN_DEVICE void square_factor(int lane, PivotPair a, SquarePivots& x, PivotBlock& out) {
  const int row = lane / 4, t = lane % 4;
  x.d[0] = arch::warp_shuffle(a.x, 0);
  VDN_UNROLL
  for (int k = 0; k < kStep; ++k) {
    x.inverse[k] = pivot_reciprocal(x.d[k]);
    if (k + 1 < kStep) {
      const auto element = [&](int i, int j) { return arch::warp_shuffle(j % 2 == 0 ? a.x : a.y, 4 * i + j / 2); };
      const float next_below = element(k + 1, k), next_right = element(k, k + 1), next_d = element(k + 1, k + 1);
      const float below = element(row, k);
      const float ux = arch::warp_shuffle(a.x, 4 * k + t), uy = arch::warp_shuffle(a.y, 4 * k + t);
      x.d[k + 1] = arch::ffma(arch::fmul(-next_below, x.inverse[k]), next_right, next_d);
      const float f = arch::fmul(row > k ? -below : 0.0f, x.inverse[k]);
      a = {arch::ffma(f, ux, a.x), arch::ffma(f, uy, a.y)};
      if (k % 2 == 0)
        a.x = t == k / 2 ? f : a.x;
      else
        a.y = t == k / 2 ? f : a.y;
    }
  }
  const int j = 2 * t;
  arch::store_shared2(out.w + row * kStep + j, make_float2(j < row ? a.x : (j == row ? 1.0f : 0.0f),
                                                           j + 1 < row ? a.y : (j + 1 == row ? 1.0f : 0.0f)));
  if (lane == 0) {
    arch::store_shared4(out.d_inverse, make_float4(x.inverse[0], x.inverse[1], x.inverse[2], x.inverse[3]));
    arch::store_shared4(out.d_inverse + 4, make_float4(x.inverse[4], x.inverse[5], x.inverse[6], x.inverse[7]));
  }
}

// `bad` or, if it is 0, the LAPACK order of the first bad pivot, of which the block's first is first_order. The
// reciprocal of a bad pivot is not above zero, so that one comparison a pivot passes a good block; whether another one
// has a bad pivot (one so large that its reciprocal is zero is good) is then looked at closely.
VDN_DEVICE int square_bad(const SquarePivots& x, int first_order, int bad) {
  bool good = true;
  VDN_UNROLL
  for (int k = 0; k < kStep; ++k) good = good && x.inverse[k] > 0.0f;
  if (!good) {
    VDN_UNROLL
    for (int k = 0; k < kStep; ++k)
      if (bad == 0 && !(x.d[k] > 0.0f && x.d[k] <= FLT_MAX)) bad = first_order + k;
  }
  return bad;
}

}  // namespace vdn_delta::phases
