// SPDX-License-Identifier: Apache-2.0
//
// The sweep by 256 threads, for latency: the same sums as phases/sweep.cuh, the work of a step spread over twice the
// threads, direct global loads and stores. Mathematics: phases/sweep.cuh.
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

// A warp is 4 r by 8 c: the half of the columns that a step publishes is in whole warps, two on each scheduler's
// pair. Lanes i and i ^ 1 share c, lanes i and i ^ 2 share r (SweepThread says why).
struct SquareThread {
  int r, c;
  VDN_DEVICE explicit SquareThread(int thread) {
    const int lane = thread % 32, warp = thread / 32;
    r = warp / 2 * 4 + lane / 16 * 2 + lane % 2;
    c = (warp ^ warp / 4) % 2 * 8 + lane / 2 % 8;
  }
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

// W below its diagonal, out of the solve's table.
struct SquareW {
  float m[kStep][kStep];
};
VDN_DEVICE SquareW square_load_w(const SquarePivot& pivot) {
  float t[2 * kSolveHalf];
  VDN_UNROLL
  for (int half = 0; half < 2; ++half) {
    VDN_UNROLL
    for (int i = 0; i < 16; i += 4) {
      const float4 v = arch::load_shared4(pivot.solve + half * kSolveHalf + i);
      float* out = t + half * kSolveHalf + i;
      out[0] = v.x, out[1] = v.y, out[2] = v.z, out[3] = v.w;
    }
  }
  SquareW w;
  VDN_UNROLL
  for (int k = 1; k < kStep; ++k) {
    VDN_UNROLL
    for (int m = 0; m < k; ++m) w.m[k][m] = t[solve_half(k) * kSolveHalf + solve_base(k) + m];
  }
  return w;
}
// Rows of H = E W from E at the words `word`, word + 32 n, ... of its panel. `out(row, k, h)` takes the results.
template <int rows, class Out>
VDN_DEVICE void square_h(int word, int n, const SquarePanel& e, const SquareW& w, Out out) {
  float x[rows][kStep];
  VDN_UNROLL
  for (int i = 0; i < rows; ++i) {
    VDN_UNROLL
    for (int k = 0; k < kStep; ++k) x[i][k] = arch::load_shared(e.word + k * kSquarePitch + word + i * n);
  }
  VDN_UNROLL
  for (int k = 0; k < kStep; ++k) {
    VDN_UNROLL
    for (int i = 0; i < rows; ++i) {
      VDN_UNROLL
      for (int m = k + 1; m < kStep; ++m) x[i][k] = arch::ffma(w.m[m][k], x[i][m], x[i][k]);
      out(i, k, x[i][k]);
    }
  }
}

// The pivot warp's own: every lane holds all of W and 1 / d of the last block, so that nothing of them has to be
// fetched.
struct SquareFactor {
  float w[kStep][kStep];  // below the diagonal
  float inverse[kStep];
};
// S in every lane.
struct SquareBlock {
  float s[kStep][kStep];
};

// From two elements in each lane to all in every lane.
VDN_DEVICE void square_spread(int lane, PivotPair pair, DiagBlock& scratch, SquareBlock& block) {
  arch::store_shared2(scratch.word + 2 * lane, make_float2(pair.x, pair.y));
  arch::warp_sync();
  VDN_UNROLL
  for (int i = 0; i < kStep; ++i) {
    const float4 lo = arch::load_shared4(scratch.word + i * kStep), hi = arch::load_shared4(scratch.word + i * kStep + 4);
    VDN_UNROLL
    for (int j = 0; j < kStep; ++j) block.s[i][j] = arch::component(lo, hi, j);
  }
  arch::warp_sync();
}

// A row of G = C W^T, summed as in pivot_form.
VDN_DEVICE void square_form_row(float (&g)[kStep], const float* c, const SquareFactor& last) {
  const float4 c0 = arch::load_shared4(c), c1 = arch::load_shared4(c + 4);
  g[0] = c0.x;
  VDN_UNROLL
  for (int k = 1; k < kStep; ++k) {
    g[k] = arch::fmul(c0.x, last.w[k][0]);
    VDN_UNROLL
    for (int m = 1; m < k; ++m) g[k] = arch::ffma(arch::component(c0, c1, m), last.w[k][m], g[k]);
    g[k] = arch::fadd(arch::component(c0, c1, k), g[k]);
  }
}

// S_s = S' - G D^-1 G^T, as pivot_form: two elements for each lane.
VDN_DEVICE PivotPair square_form(int lane, int s, const DiagBlock& diag, const SquareC& c, const SquareFactor& last) {
  const int row = lane / 4, j = 2 * (lane % 4);
  const float* block = c.word + 576 * (s / 8) + 8 * (s / 2 % 4) + 36 * (s % 2 * kStep);
  const float2 before = arch::load_shared2(diag.word + row * kStep + j);
  float gi[kStep], g0[kStep], g1[kStep];
  square_form_row(gi, block + 36 * row, last);
  square_form_row(g0, block + 36 * j, last);
  square_form_row(g1, block + 36 * (j + 1), last);
  float s0 = 0.0f, s1 = 0.0f;
  VDN_UNROLL
  for (int k = 0; k < kStep; ++k) {
    const float gd = arch::fmul(gi[k], last.inverse[k]);
    s0 = arch::ffma(gd, g0[k], s0);
    s1 = arch::ffma(gd, g1[k], s1);
  }
  return {arch::fadd(before.x, -s0), arch::fadd(before.y, -s1)};
}

// As pivot_factor, by every lane for itself. `mine` is pivot lane % 8, for square_bad.
VDN_DEVICE void square_factor(int lane, SquareBlock& block, SquareFactor& out, float& mine) {
  auto& s = block.s;
  VDN_UNROLL
  for (int k = 0; k < kStep; ++k) {
    const float d = s[k][k];
    mine = lane % kStep == k ? d : mine;
    const float inverse = pivot_reciprocal(d);
    out.inverse[k] = inverse;
    VDN_UNROLL
    for (int i = k + 1; i < kStep; ++i) {
      const float f = -arch::fmul(s[i][k], inverse);
      VDN_UNROLL
      for (int j = k + 1; j < kStep; ++j) s[i][j] = arch::ffma(f, s[k][j], s[i][j]);
      VDN_UNROLL
      for (int j = 0; j < k; ++j) out.w[i][j] = arch::ffma(f, out.w[k][j], out.w[i][j]);
      out.w[i][k] = f;
    }
  }
}
VDN_DEVICE void square_factor_publish(int lane, const SquareFactor& x, SquarePivot& out) {
  if (lane == 0) {
    VDN_UNROLL
    for (int half = 0; half < 2; ++half) {
      float t[kSolveHalf];
      VDN_UNROLL
      for (int k = 0; k < kStep; ++k) {
        if (solve_half(k) != half) continue;
        VDN_UNROLL
        for (int m = 0; m < kStep; ++m)
          if (m < solve_base(k, 1) - solve_base(k)) t[solve_base(k) + m] = m < k ? x.w[k][m] : 0.0f;
        t[16 + solve_slot(k)] = -x.inverse[k];
      }
      VDN_UNROLL
      for (int i = 0; i < kSolveHalf; i += 4)
        arch::store_shared4(out.solve + half * kSolveHalf + i, make_float4(t[i], t[i + 1], t[i + 2], t[i + 3]));
    }
  }
}
// The order of the first bad pivot, or `bad` if that is not 0.
VDN_DEVICE int square_bad(float mine, int first_order, int bad) {
  const unsigned failed = arch::warp_ballot(!(mine > 0.0f && mine <= FLT_MAX)) & 0xffu;
  return bad == 0 && failed != 0 ? first_order + arch::lowest_bit(failed) : bad;
}

// T: its lower triangle straight to global memory, the mirrored part through the stage.
VDN_DEVICE void square_store(const tile::SquareTile& tile, SquareThread me, bool spoiled, const float* alpha,
                             SquareStage& stage, float* T) {
  float alpha_j[tile::kSquareRows];
  VDN_UNROLL
  for (int q = 0; q < tile::kSquareRows; ++q) alpha_j[q] = -arch::load_shared(alpha + me.c + 16 * q);
  float alpha_i[tile::kSquareRows];
  VDN_UNROLL
  for (int p = 0; p < tile::kSquareRows; ++p) alpha_i[p] = -arch::load_shared(alpha + me.r + 16 * p);
  float* column = stage.word + me.c * kSquareStagePitch + me.r;
  float* row = T + me.r * kDim + me.c;
  VDN_UNROLL
  for (int p = 0; p < tile::kSquareRows; ++p) {
    VDN_UNROLL
    for (int q = 0; q <= p; ++q) {
      const float x = spoiled ? arch::quiet_nan() : tile::square_element(tile, p, q);
      arch::store_shared_if(p > q || me.r > me.c, column + 16 * q * kSquareStagePitch + 16 * p, arch::fmul(alpha_j[q], x));
      if (p > q || me.r >= me.c) arch::store_global(row + 16 * p * kDim + 16 * q, arch::fmul(alpha_i[p], x));
    }
  }
}
// The second half, behind a barrier: each of eight warps its rows j, from the diagonal to the right.
VDN_DEVICE void square_store_mirror(int warp, int lane, const SquareStage& stage, float* T) {
  constexpr int kAtOnce = 4;
  VDN_NO_UNROLL
  for (int n = 0; n < kDim / 8; n += kAtOnce) {
    float x[kAtOnce][4];
    VDN_UNROLL
    for (int u = 0; u < kAtOnce; ++u) {
      VDN_UNROLL
      for (int b = 0; b < 4; ++b)
        x[u][b] = arch::load_shared(stage.word + (8 * (n + u) + warp) * kSquareStagePitch + 32 * b + lane);
    }
    VDN_UNROLL
    for (int u = 0; u < kAtOnce; ++u) {
      const int j = 8 * (n + u) + warp;
      VDN_UNROLL
      for (int b = 0; b < 4; ++b)
        if (32 * b + lane > j) arch::store_global(T + j * kDim + 32 * b + lane, x[u][b]);
    }
  }
}

}  // namespace vdn_delta::phases
