// SPDX-License-Identifier: Apache-2.0
//
// The sweep: X = (I + a A)^-1 by 16 block steps of the symmetric sweep operator, by the 256 threads of the sweep team.
//
// Scope: one matrix, called by all threads of the team. Reads A, alpha and the pivot warp's blocks; writes C, H, the
// diagonal blocks and T. Entry: nothing; exit: the team's registers hold -X.
//
// Mathematics. Let M = I + a A, and let step s eliminate the eight indices of block s with pivot block S. With C the
// eight columns of block s of the current matrix (rows of block s replaced by -I, the columns themselves cleared) and
// H = -C S^-1, every element becomes
//     M_ij += C_i . H_j          (the rows of H in block s are S^-1)
// and after 16 steps the registers hold -M^-1. S^-1 is never formed: with S = L D L^T and W = L^-1,
//     H = -((C W^T) D^-1) W,
// two triangular products, which keep the accuracy of a substitution (docs/numerics.md).
// Cost: 8 x 36 fma for each thread and step (n^3 FLOP in all), of which 28 + 8 - 28 / 36 in the triangle.
#pragma once

#include "arch/barrier.cuh"
#include "arch/bulk_copy.cuh"
#include "arch/vec_mem.cuh"
#include "arch/warp_math.cuh"
#include "params.h"
#include "phases/panels.h"
#include "shape.h"
#include "tile/sweep_tile.cuh"

namespace vdn_delta::phases {

// Which elements a thread of the team holds. A warp is 4 r by 8 c: 32-byte runs of a row in global memory, and 4 + 8
// distinct 16-byte words for the two operands of the update.
struct SweepThread {
  int r, c;
  VDN_DEVICE explicit SweepThread(int thread) {
    const int lane = thread % 32, warp = thread / 32;
    r = (warp / 2) * 4 + lane / 16 * 2 + lane % 2;
    c = (warp % 2) * 8 + lane / 2 % 8;
  }
};

// I + a A from the raw elements; `at(p, q)` gives element (r + 16 p, c + 16 q) for p >= q. Elements of the strict upper
// triangle are zero here and never used.
template <class At>
VDN_DEVICE void sweep_fill(tile::SweepTile& tile, SweepThread me, float a_scale, At at) {
  VDN_UNROLL
  for (int p = 0; p < kPerThread; ++p) {
    VDN_UNROLL
    for (int u = 0; u <= p / 2; ++u) {
      float m[2] = {0.0f, 0.0f};
      VDN_UNROLL
      for (int q = 2 * u; q <= p && q < 2 * u + 2; ++q) {
        const float raw = p > q || me.r >= me.c ? at(p, q) : 0.0f;
        m[q % 2] = arch::ffma(a_scale, raw, p == q && me.r == me.c ? 1.0f : 0.0f);
      }
      tile::sweep_pair(tile, p, u) = arch::make_pair(m[0], m[1]);
    }
  }
}

// From global memory.
VDN_DEVICE void sweep_load(tile::SweepTile& tile, SweepThread me, const float* A, float a_scale) {
  const float* mine = A + me.r * kDim + me.c;
  sweep_fill(tile, me, a_scale, [=](int p, int q) { return arch::load_global(mine + kCycle * (p * kDim + q)); });
}

// From the stage.
VDN_DEVICE void sweep_unstage(tile::SweepTile& tile, SweepThread me, const SweepStage& stage, float a_scale) {
  const float* mine = stage.word + me.r * kSweepStagePitch + me.c;
  sweep_fill(tile, me, a_scale, [=](int p, int q) { return arch::load_shared(mine + kCycle * (p * kSweepStagePitch + q)); });
}

// Brings the lines of the lower triangle of a later matrix into L2.
VDN_DEVICE void sweep_prefetch(int thread, const float* A) {
  const int row = thread / 2;
  VDN_UNROLL
  for (int line = 0; line < 2; ++line) {
    const int column = 64 * (thread % 2) + 32 * line;
    if (column <= row) arch::prefetch_l2(A + row * kDim + column);
  }
}

// Publishes column block 2 Q + half: C, with -I in the block's own rows, and clears what it takes.
template <int Q>
VDN_DEVICE void publish_column(tile::SweepTile& tile, SweepThread me, int half, CPanel& c) {
  const bool in_columns = me.c / kStep == half, in_rows = me.r / kStep == half;
  if (in_columns) {  // rows below the block: column me.c of the panel
    float* out = c.word + (me.c % kStep) * kCPitch + me.r * 4;
    VDN_UNROLL
    for (int p = Q + 1; p < 8; ++p) arch::store_shared(out + panel_word(0, p), tile::sweep_element(tile, p, Q));
    VDN_UNROLL
    for (int p = Q + 1; p < 8; ++p) tile::sweep_clear(tile, p, Q);
  }
  if (in_rows) {  // columns left of the block, transposed: row me.r of the block is column me.r of the panel
    float* out = c.word + (me.r % kStep) * kCPitch + me.c * 4;
    VDN_UNROLL
    for (int q = 0; q < Q; ++q) arch::store_shared(out + panel_word(0, q), tile::sweep_element(tile, Q, q));
    VDN_UNROLL
    for (int q = 0; q < Q; ++q) tile::sweep_clear(tile, Q, q);
  }
  // Tile (Q, Q): the block's own square (-I), and the square below it (half 0) or left of it (half 1).
  if (in_rows && in_columns) {
    arch::store_shared(c.word + (me.c % kStep) * kCPitch + panel_word(me.r, Q), me.r == me.c ? -1.0f : 0.0f);
    tile::sweep_clear(tile, Q, Q);
  } else if (me.r >= kStep && me.c < kStep) {
    const int k = half == 0 ? me.c : me.r % kStep, l = half == 0 ? me.r : me.c;
    arch::store_shared(c.word + k * kCPitch + panel_word(l, Q), tile::sweep_element(tile, Q, Q));
    tile::sweep_clear(tile, Q, Q);
  }
}

// Publishes diagonal block 2 Q + half + 1, symmetric, for the pivot warp to update and factor. Registers stay.
template <int Q>
VDN_DEVICE void publish_diagonal(tile::SweepTile& tile, SweepThread me, int half, DiagBlock& diag) {
  constexpr int kNext = Q + 1 < kPerThread ? Q + 1 : Q;
  const float m = half == 0 ? tile::sweep_element(tile, Q, Q) : tile::sweep_element(tile, kNext, kNext);
  if (me.r / kStep != half && me.c / kStep != half && me.r >= me.c) {
    const int i = me.r % kStep, j = me.c % kStep;
    arch::store_shared(diag.word + i * kStep + j, m);
    arch::store_shared(diag.word + j * kStep + i, m);
  }
}

template <int Q>
VDN_DEVICE void publish_block(tile::SweepTile& tile, SweepThread me, int half, CPanel& c, DiagBlock& next) {
  publish_column<Q>(tile, me, half, c);
  if (2 * Q + half + 1 < kSteps) publish_diagonal<Q>(tile, me, half, next);
}

// Step s's panel, and the diagonal block of step s + 1 as it is before step s.
VDN_DEVICE void sweep_publish(tile::SweepTile& tile, SweepThread me, int s, CPanel& c, DiagBlock& next) {
  const int half = s % 2;
  switch (s / 2) {  // registers cannot be indexed at run time
    case 0: publish_block<0>(tile, me, half, c, next); break;
    case 1: publish_block<1>(tile, me, half, c, next); break;
    case 2: publish_block<2>(tile, me, half, c, next); break;
    case 3: publish_block<3>(tile, me, half, c, next); break;
    case 4: publish_block<4>(tile, me, half, c, next); break;
    case 5: publish_block<5>(tile, me, half, c, next); break;
    case 6: publish_block<6>(tile, me, half, c, next); break;
    default: publish_block<7>(tile, me, half, c, next); break;
  }
}

// H = -((C W^T) D^-1) W for the row at panel word `word` (0..127): one thread, one row.
VDN_DEVICE void sweep_solve(int word, const CPanel& c, const PivotBlock& pivot, HPanel& h) {
  float g[kStep], w[kStep][kStep];
  VDN_UNROLL
  for (int k = 0; k < kStep; ++k) g[k] = arch::load_shared(c.word + k * kCPitch + word);
  VDN_UNROLL
  for (int k = 1; k < kStep; ++k) {
    const float4 lo = arch::load_shared4(pivot.w + k * kStep);
    w[k][0] = lo.x, w[k][1] = lo.y, w[k][2] = lo.z, w[k][3] = lo.w;
    if (k > 4) {
      const float4 hi = arch::load_shared4(pivot.w + k * kStep + 4);
      w[k][4] = hi.x, w[k][5] = hi.y, w[k][6] = hi.z;
    }
  }
  VDN_UNROLL
  for (int k = kStep - 1; k > 0; --k) {  // downwards, in place: g_k needs c_0 .. c_k
    VDN_UNROLL
    for (int m = 0; m < k; ++m) g[k] = arch::ffma(w[k][m], g[m], g[k]);
  }
  const float4 d0 = arch::load_shared4(pivot.d_inverse), d1 = arch::load_shared4(pivot.d_inverse + 4);
  VDN_UNROLL
  for (int k = 0; k < kStep; ++k) g[k] = arch::fmul(g[k], -tile::component(d0, d1, k));
  VDN_UNROLL
  for (int k = 0; k < kStep; ++k) {  // upwards, in place: h_k needs g_k .. g_7
    VDN_UNROLL
    for (int m = k + 1; m < kStep; ++m) g[k] = arch::ffma(w[m][k], g[m], g[k]);
    arch::store_shared(h.word + k * kHPitch + word, g[k]);
  }
}

VDN_DEVICE void sweep_update(tile::SweepTile& tile, SweepThread me, const CPanel& c, const HPanel& h) {
  tile::sweep_update<kCPitch, kHPitch>(tile, c.word + me.r * 4, h.word + me.c * 4);
}

// T = diag(alpha) X, both triangles from the one that is held; NaN throughout if a pivot was bad. `lower(p, q, x)` takes
// element (r + 16 p, c + 16 q) of T, `upper(p, q, x)` its mirror image.
template <class Lower, class Upper>
VDN_DEVICE void sweep_result(const tile::SweepTile& tile, SweepThread me, int p, int q, const float* alpha, bool bad,
                             Lower lower, Upper upper) {
  const float x = bad ? arch::quiet_nan() : -tile::sweep_element(tile, p, q);
  if (p > q || me.r >= me.c) lower(p, q, arch::fmul(arch::load_shared(alpha + me.r + kCycle * p), x));
  if (p > q || me.r > me.c) upper(p, q, arch::fmul(arch::load_shared(alpha + me.c + kCycle * q), x));
}

VDN_DEVICE void sweep_store(const tile::SweepTile& tile, SweepThread me, const float* alpha, bool bad, float* T) {
  float* row = T + me.r * kDim + me.c;
  float* column = T + me.c * kDim + me.r;
  VDN_UNROLL
  for (int p = 0; p < kPerThread; ++p) {
    VDN_UNROLL
    for (int q = 0; q <= p; ++q)
      sweep_result(
          tile, me, p, q, alpha, bad, [=](int i, int j, float x) { arch::store_global(row + kCycle * (i * kDim + j), x); },
          [=](int i, int j, float x) { arch::store_global(column + kCycle * (j * kDim + i), x); });
  }
}

// The same into the stage, which holds the next A's lower triangle if `next`: each thread takes its own elements of it
// out before it puts T's in their place; T's upper triangle falls on words that nobody reads.
VDN_DEVICE void sweep_exchange(tile::SweepTile& tile, SweepThread me, const float* alpha, bool bad, SweepStage& stage,
                               bool next, float a_scale) {
  float* row = stage.word + me.r * kSweepStagePitch + me.c;
  float* column = stage.word + me.c * kSweepStagePitch + me.r;
  sweep_fill(tile, me, a_scale, [&](int p, int q) {
    const float raw = next ? arch::load_shared(row + kCycle * (p * kSweepStagePitch + q)) : 0.0f;
    sweep_result(
        tile, me, p, q, alpha, bad,
        [=](int i, int j, float x) { arch::store_shared(row + kCycle * (i * kSweepStagePitch + j), x); },
        [=](int i, int j, float x) { arch::store_shared(column + kCycle * (j * kSweepStagePitch + i), x); });
    return raw;
  });
}

// The copies of the stage, by one warp: rows lane, lane + 32, ... of A up to the end of the diagonal's block of 16, and
// whole rows of T.
VDN_DEVICE void sweep_stage_load(int lane, SweepStage& stage, const float* A, arch::Mbarrier* ready) {
  constexpr int kBlocks = kDim / kCycle;
  if (lane == 0)  // 16 rows of 64, 128, ..., 512 bytes each
    arch::mbarrier_arrive_expect(ready, kCycle * kCycle * static_cast<int>(sizeof(float)) * kBlocks * (kBlocks + 1) / 2);
  arch::warp_sync();
  for (int row = lane; row < kDim; row += 32)
    arch::bulk_load(stage.word + row * kSweepStagePitch, A + row * kDim,
                    (row / kCycle + 1) * kCycle * static_cast<int>(sizeof(float)), ready);
}
VDN_DEVICE void sweep_stage_store(int lane, const SweepStage& stage, float* T) {
  for (int row = lane; row < kDim; row += 32)
    arch::bulk_store(T + row * kDim, stage.word + row * kSweepStagePitch, kDim * static_cast<int>(sizeof(float)));
  arch::bulk_store_commit();
}

}  // namespace vdn_delta::phases
