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
    r = warp * 2 + lane % 2;
    c = lane / 2;
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

// The panel team: one thread for each row. Row i lies at square_word(i).
struct SquareRow {
  int word, index;
  VDN_DEVICE explicit SquareRow(int thread)
      : word(thread), index(thread / 4 % 16 + 16 * (thread / 64 * 4 + thread % 4)) {}
  VDN_DEVICE int block() const { return index / kStep; }
};
VDN_DEVICE void square_load_row(float (&c)[kStep], const float* p) {
  const float4 lo = arch::load_shared4(p), hi = arch::load_shared4(p + 4);
  VDN_UNROLL
  for (int k = 0; k < kStep; ++k) c[k] = arch::component(lo, hi, k);
}
VDN_DEVICE void square_store_row(const float (&c)[kStep], float* p) {
  arch::store_shared4(p, make_float4(c[0], c[1], c[2], c[3]));
  arch::store_shared4(p + 4, make_float4(c[4], c[5], c[6], c[7]));
}
// W below its diagonal and -1 / d, out of the solve's table.
struct SquareW {
  float m[kStep][kStep];
  float minus_inverse[kStep];
};
VDN_DEVICE SquareW square_load_w(const SquarePivot& pivot) {
  float t[2 * kSolveHalf];
  VDN_UNROLL
  for (int i = 0; i < 2 * kSolveHalf; i += 4) {
    const float4 v = arch::load_shared4(pivot.solve + i);
    t[i] = v.x, t[i + 1] = v.y, t[i + 2] = v.z, t[i + 3] = v.w;
  }
  SquareW w;
  VDN_UNROLL
  for (int k = 0; k < kStep; ++k) {
    VDN_UNROLL
    for (int m = 0; m < k; ++m) w.m[k][m] = t[solve_half(k) * kSolveHalf + solve_base(k) + m];
    w.minus_inverse[k] = t[solve_half(k) * kSolveHalf + 16 + solve_slot(k)];
  }
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

// The zeros of the table, once for each block of the ring.
VDN_DEVICE void square_factor_init(int lane, SquarePivot& out) {
  arch::store_shared_if(lane == 0, out.solve + 11, 0.0f);               // g4's fifth
  arch::store_shared_if(lane == 1, out.solve + 15, 0.0f);               // g0's
  arch::store_shared_if(lane == 2, out.solve + kSolveHalf + 6, 0.0f);   // g6's seventh
  arch::store_shared_if(lane == 3, out.solve + kSolveHalf + 14, 0.0f);  // g2's third
}
// Where the table has W_km, and -1 / d_k.
VDN_DEVICE int solve_word(int k, int m) {
  const int half = (0x99 >> k & 1) ^ 1;  // 7, 4, 3, 0: half 0
  return half * kSolveHalf + (k >= 6 ? 0 : k >= 4 ? 7 : k >= 2 ? 12 : 15) + m;
}
VDN_DEVICE int solve_word_d(int k) {
  const int half = (0x99 >> k & 1) ^ 1;
  return half * kSolveHalf + 16 + (k >= 6 ? 0 : k >= 4 ? 1 : k >= 2 ? 2 : 3);
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

// As pivot_factor, two pivots a trip, so that the code is short: what runs once a step has to be fetched each time.
// `mine` is pivot lane % 8, for square_bad.
VDN_DEVICE void square_factor_rolled(int lane, PivotPair a, SquarePivot& out, float& mine) {
  const int row = lane / 4, t = lane % 4;
  float d = arch::warp_shuffle(a.x, 0), inverse_mine = 0.0f;
  int order = lane % kStep, left = row;  // minus the current pivot
  VDN_UNROLL_BY(4)
  for (int h = 0; h < kStep / 2; ++h) {
    // Behind the last pivot the sources wrap around to other lanes, and what they give is not used.
    VDN_UNROLL
    for (int odd = 0; odd < 2; ++odd) {
      const float next_below = arch::warp_shuffle(odd ? a.y : a.x, 9 * h + (odd ? 8 : 4)),
                  next_right = arch::warp_shuffle(odd ? a.x : a.y, 9 * h + (odd ? 5 : 0)),
                  next_d = arch::warp_shuffle(odd ? a.x : a.y, 9 * h + (odd ? 9 : 4));
      float below = arch::warp_shuffle(odd ? a.y : a.x, 4 * row + h);
      const float ux = arch::warp_shuffle(a.x, 8 * h + 4 * odd + t), uy = arch::warp_shuffle(a.y, 8 * h + 4 * odd + t);
      const float inverse = pivot_reciprocal(d);
      mine = order == odd ? d : mine;
      inverse_mine = order == odd ? inverse : inverse_mine;
      d = arch::ffma(arch::fmul(-next_below, inverse), next_right, next_d);
      const bool under = left > odd;  // rows up to the pivot's stay
      const float f = arch::fmul(-below, inverse);
      const float x = arch::ffma(f, ux, a.x), y = arch::ffma(f, uy, a.y);
      a.x = under ? (!odd && t == h ? f : x) : a.x;
      a.y = under ? (odd && t == h ? f : y) : a.y;
    }
    order -= 2, left -= 2;
  }
  const int j = 2 * t;
  arch::store_shared_if(j < row, out.solve + solve_word(row, j), a.x);
  arch::store_shared_if(j + 1 < row, out.solve + solve_word(row, j + 1), a.y);
  arch::store_shared_if(lane < kStep, out.solve + solve_word_d(lane % kStep), -inverse_mine);
  arch::store_shared_if(lane < kStep, out.block.d_inverse + lane % kStep, inverse_mine);
  arch::store_shared2(out.block.w + row * kStep + j, make_float2(j < row ? a.x : (j == row ? 1.0f : 0.0f),
                                                                 j + 1 < row ? a.y : (j + 1 == row ? 1.0f : 0.0f)));
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
