// SPDX-License-Identifier: Apache-2.0
//
// The sweep: X = (I + a A)^-1 by 16 block steps of the symmetric sweep operator, by the 128 threads of the sweep team.
//
// Scope: one matrix, called by all threads of the team. Reads the pivot blocks and its own C, G and E; writes C, the
// diagonal blocks, G and E, and for the injection H. Entry: I + a A in the team's registers; exit: -X.
//
// Mathematics. Let M = I + a A, and let step s eliminate the eight indices of block s with pivot block S = L D L^T,
// W = L^-1. With C the eight columns of block s of the current matrix (rows of block s replaced by -I, the columns
// themselves cleared), every element becomes
//     M_ij += G_i . E_j    G = C W^T    E = -G D^-1    that is, M_ij - C_i S^-1 C_j^T
// and after 16 steps the registers hold -M^-1. S^-1 is never formed: G and E are the two sides of a Cholesky update,
// and with them the sweep has a Cholesky's accuracy (docs/numerics.md). The injection, which has no G of its own rows,
// takes
//     H = E W = -C S^-1
// Cost: 8 x 72 fma for each thread and step, 8 x 64 in half of the warps where fma come one by one: n^3 FLOP and an
// eighth or a sixteenth, for the diagonal's blocks of 16.
#pragma once

#include "arch/vec_mem.cuh"
#include "arch/warp_math.cuh"
#include "phases/panels.h"
#include "shape.h"
#include "tile/choose.cuh"
#include "tile/sweep_tile.cuh"

namespace vdn_delta::phases {

// Which elements a thread of the team holds. A warp is 8 r by 4 c. A shared-memory load of 16 bytes takes half the time
// when lanes i and i ^ 1, or i and i ^ 2, read the same word: so one bit of c and one of r come first. Warps 0 and 1
// have the columns c >= 8, where less is to be done (tile/sweep_tile.cuh), as they share schedulers with pivot warps.
struct SweepThread {
  unsigned r, c;  // unsigned: their quotients and remainders are shorter code
  VDN_DEVICE explicit SweepThread(int thread) {
    const unsigned t = static_cast<unsigned>(thread);
    r = t / 2 % 8;
    c = (t / 16 ^ 4) * 2 + t % 2;
  }
  // Element (p, q) is in the lower triangle; p and q are known at compile time.
  VDN_DEVICE bool lower(int p, int q) const { return !tile::sweep_on_diagonal(p, q) || r + kRowCycle * (p % 2) >= c; }
  VDN_DEVICE bool diagonal(int p, int q) const { return tile::sweep_on_diagonal(p, q) && r + kRowCycle * (p % 2) == c; }
};

// Publishes column block s: C, with -I in the block's own rows, and clears what it takes. The first part is the rows of
// the block, left of it: row r of the block is column r of the panel, by symmetry.
template <int s>
VDN_DEVICE void publish_row(tile::SweepTile& tile, SweepThread me, float* out) {
  constexpr int q = s / 2;
  VDN_UNROLL
  for (int i = 0; i < q; ++i) {
    arch::store_shared(out + row_word_of_column(0, i), tile::sweep_element(tile, s, i));
    tile::sweep_clear(tile, s, i);
  }
  if (s % 2 == 1 && me.c < kStep) {
    arch::store_shared(out + row_word_of_column(0, q), tile::sweep_element(tile, s, q));
    tile::sweep_clear(tile, s, q);
  }
}
// The second part is the block's columns from the block down, by the half of the team that holds them.
template <int q>
VDN_DEVICE void publish_column(tile::SweepTile& tile, float own, int half, float* out) {
  VDN_UNROLL
  for (int p = 2 * q; p < kRows; ++p) {
    const bool block = p == 2 * q + half;  // above it: not of the triangle, or published by rows
    if (p >= 2 * q + 2 || p >= 2 * q + half) {
      arch::store_shared(out + row_word(0, p), block ? own : tile::sweep_element(tile, p, q));
      tile::sweep_clear(tile, p, q);
    }
  }
}

// Publishes diagonal block s, symmetric, for the pivot warp to update and factor. Registers stay.
template <int s>
VDN_DEVICE void publish_diagonal(const tile::SweepTile& tile, SweepThread me, DiagBlock& diag) {
  const int j = me.c % kStep;
  if (me.c / kStep == s % 2 && me.r >= j) {
    const float m = tile::sweep_element(tile, s, s / 2);
    arch::store_shared(diag.word + me.r * kStep + j, m);
    arch::store_shared(diag.word + j * kStep + me.r, m);
  }
}

template <int s>
VDN_DEVICE void publish_rows(tile::SweepTile& tile, SweepThread me, float* out, DiagBlock& next) {
  publish_row<s>(tile, me, out);
  if constexpr (s + 1 < kSteps) publish_diagonal<s + 1>(tile, me, next);
}

// Step s's panel, and the diagonal block of step s + 1 as it is before step s.
VDN_DEVICE void sweep_publish(tile::SweepTile& tile, SweepThread me, int s, CPanel& c, DiagBlock& next) {
  // Opaque: else all the pieces of code below find these out by themselves.
  float* const rows = arch::opaque_shared(c.word + me.r * kCPitch + row_word_of_column(me.c, 0));
  const int half = s % 2, k = me.c % kStep;
  float* const columns = arch::opaque_shared(c.word + k * kCPitch + row_word(me.r, 0));
  const float own = me.r == k ? -1.0f : 0.0f;
  tile::choose<0, kColumns>(s / 2, [&](auto q) {
    if (half == 0)
      publish_rows<2 * q>(tile, me, rows, next);
    else
      publish_rows<2 * q + 1>(tile, me, rows, next);
    if (me.c / kStep == half)  // the same in all lanes of a warp
      publish_column<q>(tile, own, half, columns);
  });
}

// One row of the panel, between the two parts of its solve: E, and the W that it was made with.
struct SweepSolve {
  float e[kStep];
  float w[kStep][kStep];  // below the diagonal
};

// Where the row at C's panel word `word` (0..127) lies in the columns' panels.
VDN_DEVICE int sweep_column_word(int word) {
  const unsigned at = static_cast<unsigned>(word), r = at / 4 % 8, p = at / 32 * 4 + at % 4;  // row r + 8 p
  const unsigned c = p % 2 * 8 + r, q = p / 2;                                                // column c + 16 q
  return static_cast<int>(q / 4 * 64 + c * 4 + (q % 4 ^ 1));
}

// G and E for one row: one thread.
VDN_DEVICE void sweep_solve(SweepSolve& x, int word, int column_word, const CPanel& c, const PivotBlock& pivot,
                            CPanel& rows, HPanel& columns) {
  VDN_UNROLL
  for (int k = 0; k < kStep; ++k) x.e[k] = arch::load_shared(c.word + k * kCPitch + word);
  VDN_UNROLL
  for (int k = 1; k < kStep; ++k) {
    const float4 lo = arch::load_shared4(pivot.w + k * kStep);
    x.w[k][0] = lo.x, x.w[k][1] = lo.y, x.w[k][2] = lo.z, x.w[k][3] = lo.w;
    if (k > 4) {
      const float4 hi = arch::load_shared4(pivot.w + k * kStep + 4);
      x.w[k][4] = hi.x, x.w[k][5] = hi.y, x.w[k][6] = hi.z;
    }
  }
  VDN_UNROLL
  for (int k = kStep - 1; k > 0; --k) {  // downwards, in place: g_k needs c_0 .. c_k
    VDN_UNROLL
    for (int m = 0; m < k; ++m) x.e[k] = arch::ffma(x.w[k][m], x.e[m], x.e[k]);
  }
  const float4 d0 = arch::load_shared4(pivot.d_inverse), d1 = arch::load_shared4(pivot.d_inverse + 4);
  float* out = columns.word + column_word;
  VDN_UNROLL
  for (int k = 0; k < kStep; ++k) {
    arch::store_shared(rows.word + k * kCPitch + word, x.e[k]);
    x.e[k] = arch::fmul(x.e[k], -arch::component(d0, d1, k));
    arch::store_shared(out + k * kHPitch, x.e[k]);
  }
}

// H for the same row, in step s at place (p - s) % 16 of the injection's columns r + 8 q (tile/turn_tile.cuh): for row
// r + 8 p, at word 32 (p / 4) + 4 r + p % 4, that is the same word with s taken from p, whose bits are 0, 1, 5 and 6.
constexpr unsigned kTurnMask = 0x63;
VDN_DEVICE void sweep_solve_h(SweepSolve& x, int word, unsigned turned, HPanel& h) {
  float* out = h.word + (turned | (static_cast<unsigned>(word) & ~kTurnMask));
  VDN_UNROLL
  for (int k = 0; k < kStep; ++k) {  // upwards, in place: h_k needs e_k .. e_7
    VDN_UNROLL
    for (int m = k + 1; m < kStep; ++m) x.e[k] = arch::ffma(x.w[m][k], x.e[m], x.e[k]);
    arch::store_shared(out + k * kHPitch, x.e[k]);
  }
}

VDN_DEVICE void sweep_update(tile::SweepTile& tile, SweepThread me, const CPanel& rows, const HPanel& columns) {
  tile::sweep_update<kCPitch, kHPitch>(tile, me.c < kStep, rows.word + me.r * 4, columns.word + me.c * 4);
}

}  // namespace vdn_delta::phases
