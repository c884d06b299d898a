// SPDX-License-Identifier: Apache-2.0
//
// The sweep by 256 threads, for latency: the same sums as phases/sweep.cuh, the work of a step spread over twice the
// threads, direct global loads and stores. Mathematics: phases/sweep.cuh.
#pragma once

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

VDN_DEVICE int solve_word(int k, int m) {
  const int half = (0x99 >> k & 1) ^ 1;  // 7, 4, 3, 0: half 0
  const int base = k >= 6 ? 0 : k >= 4 ? 7 : k >= 2 ? 12 : 15;
  return half * kSolveHalf + base + m;
}
struct SquareThread {
  int r, c;
  VDN_DEVICE explicit SquareThread(int thread) : r(thread / 32 * 2 + thread % 2), c(thread % 32 / 2) {}
};

VDN_DEVICE void square_load(tile::SquareTile& tile, SquareThread me, const float* A, float a_scale) {
  const float* mine = A + me.r * kDim + me.c;
  float raw[tile::kSquareRows][tile::kSquareRows];
  VDN_UNROLL
  for (int q = 0; q < tile::kSquareRows; ++q) {
    VDN_UNROLL
    for (int p = q; p < tile::kSquareRows; ++p)
      raw[p][q] = p > q || me.r >= me.c ? arch::load_global(mine + 16 * p * kDim + 16 * q) : 0.0f;
  }
  VDN_UNROLL
  for (int u = 0; u < tile::kSquarePairs; ++u) {
    VDN_UNROLL
    for (int p = 2 * u; p < tile::kSquareRows; ++p) {
      const float one = me.r == me.c ? 1.0f : 0.0f;
      const float x = arch::ffma(a_scale, raw[p][2 * u], p == 2 * u ? one : 0.0f);
      const float y = p > 2 * u ? arch::ffma(a_scale, raw[p][2 * u + 1], p == 2 * u + 1 ? one : 0.0f) : 0.0f;
      tile::square_pair(tile, p, u) = arch::make_pair(x, y);
    }
  }
}

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
  const int half = s % 2;
  switch (s / 2) {  // registers cannot be indexed at run time
    case 0: square_publish_block<0>(tile, me, half, c, next); break;
    case 1: square_publish_block<1>(tile, me, half, c, next); break;
    case 2: square_publish_block<2>(tile, me, half, c, next); break;
    case 3: square_publish_block<3>(tile, me, half, c, next); break;
    case 4: square_publish_block<4>(tile, me, half, c, next); break;
    case 5: square_publish_block<5>(tile, me, half, c, next); break;
    case 6: square_publish_block<6>(tile, me, half, c, next); break;
    default: square_publish_block<7>(tile, me, half, c, next); break;
  }
}

// G and E: two threads a row, neighbouring lanes, half of the k each.
VDN_DEVICE void square_solve(int thread, const SquareC& c, const SquarePivot& pivot, SquarePanel& g, SquarePanel& e) {
  const int w = thread / 2, half = thread % 2;
  const float4 c0 = arch::load_shared4(c.word + square_row(w)), c1 = arch::load_shared4(c.word + square_row(w) + 4);
  const float* table = pivot.solve + half * kSolveHalf;
  const float4 t0 = arch::load_shared4(table), t1 = arch::load_shared4(table + 4), t2 = arch::load_shared4(table + 8),
               t3 = arch::load_shared4(table + 12), t4 = arch::load_shared4(table + 16);
  float ga = half == 0 ? c1.w : c1.z, gb = half == 0 ? c1.x : c1.y, gc = half == 0 ? c0.w : c0.z,
        gd = half == 0 ? c0.x : c0.y;
  gd = arch::ffma(t3.w, c0.x, gd);
  ga = arch::ffma(t0.x, c0.x, ga), gb = arch::ffma(t1.w, c0.x, gb), gc = arch::ffma(t3.x, c0.x, gc);
  ga = arch::ffma(t0.y, c0.y, ga), gb = arch::ffma(t2.x, c0.y, gb), gc = arch::ffma(t3.y, c0.y, gc);
  ga = arch::ffma(t0.z, c0.z, ga), gb = arch::ffma(t2.y, c0.z, gb), gc = arch::ffma(t3.z, c0.z, gc);
  ga = arch::ffma(t0.w, c0.w, ga), gb = arch::ffma(t2.z, c0.w, gb);
  ga = arch::ffma(t1.x, c1.x, ga), gb = arch::ffma(t2.w, c1.x, gb);
  ga = arch::ffma(t1.y, c1.y, ga);
  ga = arch::ffma(t1.z, c1.z, ga);
  float* rows = g.word + w;
  float* columns = e.word + (w ^ 1);
  const int ka = (7 - half) * kSquarePitch, kb = (4 + half) * kSquarePitch, kc = (3 - half) * kSquarePitch,
            kd = half * kSquarePitch;
  arch::store_shared(rows + ka, ga), arch::store_shared(columns + ka, arch::fmul(ga, t4.x));
  arch::store_shared(rows + kb, gb), arch::store_shared(columns + kb, arch::fmul(gb, t4.y));
  arch::store_shared(rows + kc, gc), arch::store_shared(columns + kc, arch::fmul(gc, t4.z));
  arch::store_shared(rows + kd, gd), arch::store_shared(columns + kd, arch::fmul(gd, t4.w));
}

VDN_DEVICE void square_update(tile::SquareTile& tile, SquareThread me, const SquarePanel& g, const SquarePanel& e) {
  tile::square_update<kSquarePitch, kSquarePitch>(tile, g.word + 4 * me.r, e.word + 4 * me.c);
}

// One row of H = E W from E at word `w` of its panel. `out(k, h)` takes the results.
template <class Out>
VDN_DEVICE void square_h(int w, const SquarePanel& e, const float (&wm)[kStep][kStep], Out out) {
  float x[kStep];
  VDN_UNROLL
  for (int k = 0; k < kStep; ++k) x[k] = arch::load_shared(e.word + k * kSquarePitch + w);
  VDN_UNROLL
  for (int k = 0; k < kStep; ++k) {
    VDN_UNROLL
    for (int m = k + 1; m < kStep; ++m) x[k] = arch::ffma(wm[m][k], x[m], x[k]);
    out(k, x[k]);
  }
}
VDN_DEVICE void square_load_w(float (&wm)[kStep][kStep], const PivotBlock& pivot) {
  VDN_UNROLL
  for (int k = 1; k < kStep; ++k) {
    const float4 lo = arch::load_shared4(pivot.w + k * kStep);
    wm[k][0] = lo.x, wm[k][1] = lo.y, wm[k][2] = lo.z, wm[k][3] = lo.w;
    if (k > 4) {
      const float4 hi = arch::load_shared4(pivot.w + k * kStep + 4);
      wm[k][4] = hi.x, wm[k][5] = hi.y, wm[k][6] = hi.z;
    }
  }
}

// S_s = S' - G D^-1 G^T, as pivot_form.
VDN_DEVICE PivotPair square_form(int lane, int s, const DiagBlock& diag, const SquareC& c, const PivotBlock& last,
                                 PivotScratch& scratch) {
  const int row = lane / 4, j = 2 * (lane % 4);
  const float* mine = c.word + 576 * (s / 8) + 8 * (s / 2 % 4) + 36 * (s % 2 * kStep + row);
  const float4 c0 = arch::load_shared4(mine), c1 = arch::load_shared4(mine + 4);
  float g0 = 0.0f, g1 = 0.0f;  // G of (row, j) and (row, j + 1)
  {
    const float4 a0 = arch::load_shared4(last.w + j * kStep), a1 = arch::load_shared4(last.w + j * kStep + 4);
    const float4 b0 = arch::load_shared4(last.w + (j + 1) * kStep),
                 b1 = arch::load_shared4(last.w + (j + 1) * kStep + 4);
    VDN_UNROLL
    for (int m = 0; m < kStep; ++m) {
      const float ci = arch::component(c0, c1, m);
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

// As pivot_factor, and the solve's table besides.
VDN_DEVICE int square_factor(int lane, PivotPair a, int first_order, int bad, SquarePivot& out) {
  const int row = lane / 4, t = lane % 4;
  float inverse[kStep];
  float d = arch::warp_shuffle(a.x, 0);
  VDN_UNROLL
  for (int k = 0; k < kStep; ++k) {
    const auto element = [&](int i, int j) { return arch::warp_shuffle(j % 2 == 0 ? a.x : a.y, 4 * i + j / 2); };
    if (bad == 0 && !(d > 0.0f && d <= FLT_MAX)) bad = first_order + k;
    inverse[k] = pivot_reciprocal(d);
    if (k + 1 < kStep) {
      const float below = element(row, k);  // of this lane's row
      const float ux = arch::warp_shuffle(a.x, 4 * k + t), uy = arch::warp_shuffle(a.y, 4 * k + t);
      const float next_below = element(k + 1, k), next_right = element(k, k + 1), next_d = element(k + 1, k + 1);
      d = arch::ffma(-arch::fmul(next_below, inverse[k]), next_right, next_d);
      const float f = row > k ? -arch::fmul(below, inverse[k]) : 0.0f;
      const bool in_column = row > k && t == k / 2;
      const float x = arch::ffma(f, ux, a.x), y = arch::ffma(f, uy, a.y);
      a.x = in_column && k % 2 == 0 ? f : x;
      a.y = in_column && k % 2 == 1 ? f : y;
    }
  }
  const int j = 2 * t;
  arch::store_shared_if(j < row, out.solve + solve_word(row, j), a.x);
  arch::store_shared_if(j + 1 < row, out.solve + solve_word(row, j + 1), a.y);
  arch::store_shared2(out.block.w + row * kStep + j, make_float2(j < row ? a.x : (j == row ? 1.0f : 0.0f),
                                                                 j + 1 < row ? a.y : (j + 1 == row ? 1.0f : 0.0f)));
  if (lane == 0) {
    arch::store_shared4(out.solve + 16, make_float4(-inverse[7], -inverse[4], -inverse[3], -inverse[0]));
    arch::store_shared4(out.solve + kSolveHalf + 16, make_float4(-inverse[6], -inverse[5], -inverse[2], -inverse[1]));
    arch::store_shared4(out.block.d_inverse, make_float4(inverse[0], inverse[1], inverse[2], inverse[3]));
    arch::store_shared4(out.block.d_inverse + 4, make_float4(inverse[4], inverse[5], inverse[6], inverse[7]));
  }
  return bad;
}
// The zeros of the table, once for each block of the ring.
VDN_DEVICE void square_factor_init(int lane, SquarePivot& out) {
  arch::store_shared_if(lane == 0, out.solve + 11, 0.0f);               // g4's fifth
  arch::store_shared_if(lane == 1, out.solve + 15, 0.0f);               // g0's
  arch::store_shared_if(lane == 2, out.solve + kSolveHalf + 6, 0.0f);   // g6's seventh
  arch::store_shared_if(lane == 3, out.solve + kSolveHalf + 14, 0.0f);  // g2's third
}

// T: its lower triangle straight to global memory, the mirrored part through the stage.
VDN_DEVICE void square_store(const tile::SquareTile& tile, SquareThread me, bool spoiled, const float* alpha,
                             SquareStage& stage, float* T) {
  float alpha_j[tile::kSquareRows];
  VDN_UNROLL
  for (int q = 0; q < tile::kSquareRows; ++q) alpha_j[q] = -arch::load_shared(alpha + me.c + 16 * q);
  float* column = stage.word + me.c * kSquareStagePitch + me.r;
  float* row = T + me.r * kDim + me.c;
  VDN_UNROLL
  for (int p = 0; p < tile::kSquareRows; ++p) {
    const float alpha_i = -arch::load_shared(alpha + me.r + 16 * p);
    VDN_UNROLL
    for (int q = 0; q <= p; ++q) {
      const float x = spoiled ? arch::quiet_nan() : tile::square_element(tile, p, q);
      arch::store_shared_if(p > q || me.r > me.c, column + 16 * q * kSquareStagePitch + 16 * p, arch::fmul(alpha_j[q], x));
      if (p > q || me.r >= me.c) arch::store_global(row + 16 * p * kDim + 16 * q, arch::fmul(alpha_i, x));
    }
  }
}
// The second half, behind a barrier: each of eight warps its rows j, from the diagonal to the right.
VDN_DEVICE void square_store_mirror(int warp, int lane, const SquareStage& stage, float* T) {
  VDN_UNROLL_BY(4)
  for (int n = 0; n < kDim / 8; ++n) {
    const int j = 8 * n + warp;
    VDN_UNROLL
    for (int b = 0; b < 4; ++b) {
      const int i = 32 * b + lane;
      if (i > j) arch::store_global(T + j * kDim + i, arch::load_shared(stage.word + j * kSquareStagePitch + i));
    }
  }
}

}  // namespace vdn_delta::phases
