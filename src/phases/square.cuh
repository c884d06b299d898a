// SPDX-License-Identifier: Apache-2.0
//
// The sweep by 256 threads, for latency: the same sums on the same operands as phases/sweep.cuh, a step's work spread
// over twice the threads, and its solve over a team of its own.
//
// Scope: one matrix. Publication and update are called by all 256 threads of the sweep team; the solve by the panel
// team, once for each of the 128 rows: one a thread in pair, two in compact. Nothing here waits.
// Reads: G and E, the sweep team; C, W and 1 / d, the panel team.
// Writes: C and the diagonal blocks, the sweep team; G and E, and H to where the caller says, the panel team.
// Entry: I + a A in the sweep team's registers. Exit: -X there; nothing in the panel team's.
//
// Mathematics: that of phases/sweep.cuh.
// Cost: 8 x 36 fma for each thread of the sweep and step, n^3 FLOP and an eighth, for the diagonal's blocks of 16;
// 28 + 28 fma and 8 products for each row and step in the panel team.
// In clocks a step at N = 1 (bench --timeline, an H200): update 884, publication 326; solve 240, H and its push 353.
#pragma once

#include "arch/vec_mem.cuh"
#include "arch/warp_math.cuh"
#include "phases/panels.h"
#include "phases/square_panels.h"
#include "shape.h"
#include "tile/choose.cuh"
#include "tile/square_tile.cuh"

namespace vdn_delta::phases {

// Which elements a thread of the sweep team holds. A warp is 2 r by 16 c. Lanes i and i ^ 1 share c, lanes i and i ^ 2
// share r (SweepThread says why).
struct SquareThread {
  int r, c;
  VDN_DEVICE explicit SquareThread(int thread) {
    const int lane = thread % 32, warp = thread / 32;
    r = warp * 2 + lane % 2;
    c = lane / 2;
  }
};

// Publishes column block s = 2 q0 + half: C, with -I in the block's own rows, and clears what it takes. A diagonal
// element (q0, q0) holds pieces of blocks 2 q0 and 2 q0 + 1, told apart by r / 8 and c / 8. The first part is the
// block's columns from the diagonal down...
template <int q0>
VDN_DEVICE void square_publish_columns(tile::SquareTile& tile, SquareThread me, int half, SquareC& c) {
  const int k = me.c % kStep;
  const bool mine = me.c / kStep == half;
  const float own = me.r % kStep == k ? -1.0f : 0.0f;
  float* out = c.word + square_row_of_a(me.r) + k;
  VDN_UNROLL
  for (int p = q0; p < tile::kSquareRows; ++p) {
    const float x = tile::square_element(tile, p, q0);
    const bool in_block = p == q0 && me.r / kStep == half;
    arch::store_shared_if(mine && (p > q0 || me.r / kStep >= half), out + square_row_of_b(p), in_block ? own : x);
    if (p > q0) tile::square_set(tile, p, q0, mine ? 0.0f : x);
  }
}
// ... the second part the block's rows, left of it: a row of the block is a column of the panel, by symmetry...
template <int q0>
VDN_DEVICE void square_publish_rows(tile::SquareTile& tile, SquareThread me, int half, SquareC& c) {
  const bool mine = me.r / kStep == half;
  float* out = c.word + square_row_of_a(me.c) + me.r % kStep;
  VDN_UNROLL
  for (int q = 0; q <= q0; ++q) {
    const float x = tile::square_element(tile, q0, q);
    arch::store_shared_if(mine && (q < q0 || me.c / kStep < half), out + square_row_of_b(q), x);
    if (q < q0) tile::square_set(tile, q0, q, mine ? 0.0f : x);
  }
}
// ... and the third diagonal block s + 1 as it is, symmetric, for the pivot warp to update and factor. Only then is the
// diagonal element cleared, if it lies in block s.
template <int q0>
VDN_DEVICE void square_publish_diagonal(tile::SquareTile& tile, SquareThread me, int half, DiagBlock& next) {
  const float x = tile::square_element(tile, q0, q0);
  const bool same_element = half == 0;  // as block s
  float y = x;
  if constexpr (q0 + 1 < tile::kSquareRows) y = same_element ? x : tile::square_element(tile, q0 + 1, q0 + 1);
  const int j = me.c % kStep, i = me.r % kStep;
  const bool store = me.r / kStep == (half ^ 1) && me.c / kStep == (half ^ 1) && i >= j &&
                     (q0 + 1 < tile::kSquareRows || same_element);
  arch::store_shared_if(store, next.word + i * kStep + j, y);
  arch::store_shared_if(store, next.word + j * kStep + i, y);
  const bool taken = me.r / kStep == half || me.c / kStep == half;
  tile::square_set(tile, q0, q0, taken ? 0.0f : x);
}

template <int q0>
VDN_DEVICE void square_publish_block(tile::SquareTile& tile, SquareThread me, int half, SquareC& c, DiagBlock& next) {
  square_publish_columns<q0>(tile, me, half, c);
  square_publish_rows<q0>(tile, me, half, c);
  square_publish_diagonal<q0>(tile, me, half, next);
}

// Step s's panel, and the diagonal block of step s + 1 as it is before step s.
VDN_DEVICE void square_publish(tile::SquareTile& tile, SquareThread me, int s, SquareC& c, DiagBlock& next) {
  tile::choose<0, tile::kSquareRows>(s / 2, [&](auto q) { square_publish_block<q>(tile, me, s % 2, c, next); });
}

// Eight words that lie together, by two 16-byte loads.
VDN_DEVICE void square_load_row(float (&x)[kStep], const float* p) {
  const float4 lo = arch::load_shared4(p), hi = arch::load_shared4(p + 4);
  VDN_UNROLL
  for (int k = 0; k < kStep; ++k) x[k] = arch::component(lo, hi, k);
}

// A pivot block as the solve wants it, in the registers of each thread of the panel team: W below its diagonal, -1 / d.
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

// G and E of the row at word `word` of square_word, from its C.
VDN_DEVICE void square_solve(const float (&c)[kStep], int word, const SquareW& w, float (&g)[kStep], float (&e)[kStep],
                             SquarePanel& rows, SquarePanel& columns) {
  VDN_UNROLL
  for (int k = 0; k < kStep; ++k) {
    g[k] = c[k];
    VDN_UNROLL
    for (int m = 0; m < k; ++m) g[k] = arch::ffma(w.m[k][m], c[m], g[k]);
    e[k] = arch::fmul(g[k], w.minus_inverse[k]);
    arch::store_shared(rows.word + k * kSquarePitch + word, g[k]);
    arch::store_shared(columns.word + k * kSquarePitch + (word ^ 1), e[k]);
  }
}

// H = E W of the same row. `out(k, h)` takes the results as they are made; e is used up.
template <class Out>
VDN_DEVICE void square_h(float (&e)[kStep], const SquareW& w, Out out) {
  VDN_UNROLL
  for (int k = 0; k < kStep; ++k) {  // upwards, in place: h_k needs e_k .. e_7
    VDN_UNROLL
    for (int m = k + 1; m < kStep; ++m) e[k] = arch::ffma(w.m[m][k], e[m], e[k]);
    out(k, e[k]);
  }
}

// `unroll`: how many k stand in a row (tile/square_tile.cuh).
template <int unroll = kStep>
VDN_DEVICE void square_update(tile::SquareTile& tile, SquareThread me, const SquarePanel& g, const SquarePanel& e) {
  tile::square_update<kSquarePitch, kSquarePitch, unroll>(tile, g.word + 4 * me.r, e.word + 4 * me.c);
}

}  // namespace vdn_delta::phases
