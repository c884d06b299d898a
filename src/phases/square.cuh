// SPDX-License-Identifier: Apache-2.0
//
// The sweep by 256 threads, for latency: the same sums as phases/sweep.cuh, the work of a step spread over twice the
// threads. Mathematics: phases/sweep.cuh. One pivot warp, a panel team of one thread a row, and the sweep team.
#pragma once

#include <cfloat>
#include <cstdint>

#include "arch/barrier.cuh"
#include "arch/vec_mem.cuh"
#include "arch/warp_math.cuh"
#include "phases/panels.h"
#include "phases/pivot.cuh"
#include "phases/square_panels.h"
#include "shape.h"
#include "tile/square_tile.cuh"

namespace vdn_delta::phases {

// A warp is 2 r by 16 c. Lanes i and i ^ 1 share c, lanes i and i ^ 2 share r (SweepThread says why).
struct SquareThread {
  int r, c;
  VDN_DEVICE explicit SquareThread(int thread) {
    const int lane = thread % 32, warp = thread / 32;
    r = warp * 2 + lane % 2;
    c = lane / 2;
  }
};

// Publishes column block s (C, with -I in the block's own rows), clears what it takes, and publishes diagonal block
// s + 1 as it is.
template <int q0>
VDN_DEVICE void square_publish_block(tile::SquareTile& tile, SquareThread me, int half, SquareC& c, DiagBlock& next) {
  const int k = me.c % kStep;
  {  // the block's columns from the diagonal down
    const bool mine = me.c / kStep == half;
    const float own = me.r % kStep == k ? -1.0f : 0.0f;
    float* out = c.word + 36 * me.r + k;
    VDN_UNROLL
    for (int p = q0; p < tile::kSquareRows; ++p) {
      const float x = tile::square_element(tile, p, q0);
      const bool in_block = p == q0 && me.r / kStep == half;
      arch::store_shared_if(mine && (p > q0 || me.r / kStep >= half), out + 576 * (p / 4) + 8 * (p % 4),
                            in_block ? own : x);
      if (p > q0) tile::square_set(tile, p, q0, mine ? 0.0f : x);
    }
  }
  {  // the block's rows, left of it
    const bool mine = me.r / kStep == half;
    float* out = c.word + 36 * me.c + me.r % kStep;
    VDN_UNROLL
    for (int q = 0; q <= q0; ++q) {
      const float x = tile::square_element(tile, q0, q);
      arch::store_shared_if(mine && (q < q0 || me.c / kStep < half), out + 576 * (q / 4) + 8 * (q % 4), x);
      if (q < q0) tile::square_set(tile, q0, q, mine ? 0.0f : x);
    }
  }
  // The diagonal element next goes out first; it is cleared only if it lies in the block.
  {
    const float x = tile::square_element(tile, q0, q0);
    const bool pair0 = half == 0;  // the next block is in the same diagonal element
    float y = x;
    if constexpr (q0 + 1 < tile::kSquareRows) y = pair0 ? x : tile::square_element(tile, q0 + 1, q0 + 1);
    const int j = me.c % kStep, i = me.r % kStep;
    const bool store = me.r / kStep == (half ^ 1) && me.c / kStep == (half ^ 1) && i >= j &&
                       (q0 + 1 < tile::kSquareRows || pair0);
    arch::store_shared_if(store, next.word + i * kStep + j, y);
    arch::store_shared_if(store, next.word + j * kStep + i, y);
    const bool taken = me.r / kStep == half || me.c / kStep == half;
    tile::square_set(tile, q0, q0, taken ? 0.0f : x);
  }
}

VDN_DEVICE void square_publish(tile::SquareTile& tile, SquareThread me, int s, SquareC& c, DiagBlock& next) {
  const int half = s % 2, q = s / 2;
  // Registers cannot be indexed at run time. A tree of branches takes less time than a table of addresses.
  if (q < 4) {
    if (q < 2) {
      if (q < 1) square_publish_block<0>(tile, me, half, c, next);
      else square_publish_block<1>(tile, me, half, c, next);
    } else {
      if (q < 3) square_publish_block<2>(tile, me, half, c, next);
      else square_publish_block<3>(tile, me, half, c, next);
    }
  } else {
    if (q < 6) {
      if (q < 5) square_publish_block<4>(tile, me, half, c, next);
      else square_publish_block<5>(tile, me, half, c, next);
    } else {
      if (q < 7) square_publish_block<6>(tile, me, half, c, next);
      else square_publish_block<7>(tile, me, half, c, next);
    }
  }
}

// The panel team: one thread for each row. Row i lies at square_word(i).
struct SquareRow {
  int word, index;
  VDN_DEVICE explicit SquareRow(int thread)
      : word(thread), index(thread / 4 % 16 + 16 * (thread / 64 * 4 + thread % 4)) {}
};
VDN_DEVICE void square_load_row(float (&c)[kStep], const float* p) {
  const float4 lo = arch::load_shared4(p), hi = arch::load_shared4(p + 4);
  VDN_UNROLL
  for (int k = 0; k < kStep; ++k) c[k] = arch::component(lo, hi, k);
}
// W below its diagonal and -1 / d.
struct SquareW {
  float m[kStep][kStep];
  float minus_inverse[kStep];
};
VDN_DEVICE SquareW square_load_w(const PivotBlock& pivot) {
  SquareW w;
  VDN_UNROLL
  for (int k = 1; k < kStep; ++k) {
    const float4 lo = arch::load_shared4(pivot.w + k * kStep);
    w.m[k][0] = lo.x, w.m[k][1] = lo.y, w.m[k][2] = lo.z, w.m[k][3] = lo.w;
    if (k > 4) {
      const float4 hi = arch::load_shared4(pivot.w + k * kStep + 4);
      w.m[k][4] = hi.x, w.m[k][5] = hi.y, w.m[k][6] = hi.z;
    }
  }
  const float4 d0 = arch::load_shared4(pivot.d_inverse), d1 = arch::load_shared4(pivot.d_inverse + 4);
  VDN_UNROLL
  for (int k = 0; k < kStep; ++k) w.minus_inverse[k] = -arch::component(d0, d1, k);
  return w;
}

// G and E of one row.
VDN_DEVICE void square_solve(const float (&c)[kStep], SquareRow me, const SquareW& w, float (&g)[kStep],
                             float (&e)[kStep], SquarePanel& rows, SquarePanel& columns) {
  VDN_UNROLL
  for (int k = 0; k < kStep; ++k) {
    g[k] = c[k];
    VDN_UNROLL
    for (int m = 0; m < k; ++m) g[k] = arch::ffma(w.m[k][m], c[m], g[k]);
    e[k] = arch::fmul(g[k], w.minus_inverse[k]);
    arch::store_shared(rows.word + k * kSquarePitch + me.word, g[k]);
    arch::store_shared(columns.word + k * kSquarePitch + (me.word ^ 1), e[k]);
  }
}

// H = E W of one row. `out(k, h)` takes the results; e is used up.
template <class Out>
VDN_DEVICE void square_h(float (&e)[kStep], const SquareW& w, Out out) {
  VDN_UNROLL
  for (int k = 0; k < kStep; ++k) {
    VDN_UNROLL
    for (int m = k + 1; m < kStep; ++m) e[k] = arch::ffma(w.m[m][k], e[m], e[k]);
    out(k, e[k]);
  }
}

VDN_DEVICE void square_update(tile::SquareTile& tile, SquareThread me, const SquarePanel& g, const SquarePanel& e) {
  tile::square_update<kSquarePitch, kSquarePitch>(tile, g.word + 4 * me.r, e.word + 4 * me.c);
}

// S = S' - G D^-1 G^T, the rows of G exchanged through shared memory.
VDN_DEVICE PivotPair square_form_shared(int lane, int s, const DiagBlock& diag, const SquareC& c, const PivotBlock& last,
                                        PivotScratch& scratch) {
  const int row = lane / 4, j = 2 * (lane % 4);
  float ci[kStep], wj[kStep], wk[kStep];
  square_load_row(ci, c.word + 576 * (s / 8) + 8 * (s / 2 % 4) + 36 * (s % 2 * kStep + row));
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

// As pivot_factor, with as few instructions as can be: beside the sweep's warps on its scheduler each of them takes some
// eight clocks. Rows up to the pivot's are dead but for W's part of them, which a multiplier of zero leaves as it is.
struct SquarePivots {
  float d[kStep], inverse[kStep];  // in every lane
};
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
// The order of the first bad pivot, or `bad` if that is not 0. A bad pivot has no reciprocal above zero; the other way
// round it is looked at closely.
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
