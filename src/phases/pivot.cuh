// SPDX-License-Identifier: Apache-2.0
//
// The serial chain: each step's 8 x 8 pivot block, by one warp, one step ahead of the sweep team.
//
// Scope: one warp. pivot_form reads the diagonal block as the sweep team published it one step early, the C panel and
// the block of the turn before, and leaves S in registers; pivot_factor writes W = L^-1 and 1 / d of S = L D L^T and
// leaves the pivots, which pivot_bad looks at.
//
// Mathematics. S_(s+1) = S' - G D^-1 G^T with S' the block before step s, G = C W^T its eight rows of step s; then
// elimination of [S | I] in place: after column k, rows below it have their multiplier's negative in column k, and at
// the end the strict lower triangle holds W. Lane (row, t) = (lane / 4, lane % 4) holds columns 2 t and 2 t + 1 of row
// `row`. Cost: about 300 instructions.
#pragma once

#include <cfloat>

#include "arch/barrier.cuh"
#include "arch/ffma2.cuh"
#include "arch/vec_mem.cuh"
#include "arch/warp_math.cuh"
#include "phases/panels.h"
#include "shape.h"

namespace vdn_delta::phases {

// Two neighbouring elements of a row of the pivot block, in each lane.
struct PivotPair {
  float x, y;
};

// 1/d to the last bit but for rare ties: one Newton step on d/4, so that neither end of it is subnormal for
// d in [2^-124, 2^128).
VDN_DEVICE float pivot_reciprocal(float d) {
  const float quarter = arch::fmul(d, 0.25f);
  const float y = arch::rcp_approx_ftz(quarter);
  const float e = arch::ffma(-quarter, y, 1.0f);
  return arch::fmul(arch::ffma(y, e, y), 0.25f);
}

// Block 0 straight from A, the lower triangle mirrored.
VDN_DEVICE PivotPair pivot_load(int lane, const float* A, float a_scale) {
  const int row = lane / 4, j = 2 * (lane % 4);
  const auto element = [&](int column) {
    const int i = row > column ? row : column, k = row > column ? column : row;
    return arch::ffma(a_scale, arch::load_global(A + i * kDim + k), i == k ? 1.0f : 0.0f);
  };
  return {element(j), element(j + 1)};
}

// Block s from what it was before step s - 1.
VDN_DEVICE PivotPair pivot_form(int lane, int s, const DiagBlock& diag, const CPanel& c, const PivotBlock& last,
                                PivotScratch& scratch) {
  const int row = lane / 4, j = 2 * (lane % 4);
  const float* rows = c.word + row_word(row, s);
  float g0 = 0.0f, g1 = 0.0f;  // G of (row, j) and (row, j + 1)
  {
    const float4 a0 = arch::load_shared4(last.w + j * kStep), a1 = arch::load_shared4(last.w + j * kStep + 4);
    const float4 b0 = arch::load_shared4(last.w + (j + 1) * kStep),
                 b1 = arch::load_shared4(last.w + (j + 1) * kStep + 4);
    VDN_UNROLL
    for (int m = 0; m < kStep; ++m) {
      const float ci = arch::load_shared(rows + m * kCPitch);
      g0 = arch::ffma(ci, arch::component(a0, a1, m), g0);
      g1 = arch::ffma(ci, arch::component(b0, b1, m), g1);
    }
  }
  arch::store_shared2(scratch.g + row * kGPitch + j, make_float2(g0, g1));
  const float2 before = arch::load_shared2(diag.word + row * kStep + j);
  const float4 d0 = arch::load_shared4(last.d_inverse), d1 = arch::load_shared4(last.d_inverse + 4);
  arch::warp_sync();
  const float4 r0 = arch::load_shared4(scratch.g + row * kGPitch),
               r1 = arch::load_shared4(scratch.g + row * kGPitch + 4);
  const float4 a0 = arch::load_shared4(scratch.g + j * kGPitch), a1 = arch::load_shared4(scratch.g + j * kGPitch + 4);
  const float4 b0 = arch::load_shared4(scratch.g + (j + 1) * kGPitch),
               b1 = arch::load_shared4(scratch.g + (j + 1) * kGPitch + 4);
  float s0 = 0.0f, s1 = 0.0f;
  VDN_UNROLL
  for (int k = 0; k < kStep; ++k) {
    const float gd = arch::fmul(arch::component(r0, r1, k), arch::component(d0, d1, k));
    s0 = arch::ffma(gd, arch::component(a0, a1, k), s0);
    s1 = arch::ffma(gd, arch::component(b0, b1, k), s1);
  }
  arch::warp_sync();  // scratch.g is free again
  return {arch::fadd(before.x, -s0), arch::fadd(before.y, -s1)};
}

struct Pivots {
  float d[kStep], inverse[kStep];  // in every lane
};

// Factors the block and publishes W and 1 / d. The chain from pivot to pivot is a reciprocal, a product and an fma:
// every lane computes the next pivot for itself from elements that were fetched while the reciprocal was under way.
// Rows up to the pivot's are dead but for W's part of them, which a multiplier of zero leaves as it is: no branch. The
// pivots are looked at later (pivot_bad), off the chain.
VDN_DEVICE void pivot_factor(int lane, PivotPair a, Pivots& x, PivotBlock& out) {
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
VDN_DEVICE int pivot_bad(const Pivots& x, int first_order, int bad) {
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
