// SPDX-License-Identifier: Apache-2.0
//
// One matrix, one thread: T = diag(alpha) X and J = b B X with X = (I + a A)^-1.
//
// M = I + a A = U^T U, W = U^-T (lower triangular), X = W^T W, J = b (B W^T) W. All scratch matrices are row-major, so
// that every step below works on whole packets of a row and broadcasts what multiplies it:
//
//   1. load      U := upper triangle of M, from the lower triangle of A
//   2. eliminate eight rows at a time, left to right:
//                rows := rows - sum over the rows above, factor the 8 x 8 diagonal block, solve the rows with it;
//                the same on the rows of the identity, which become W
//   3. transpose V := W^T                        (in the place of U, which is dead)
//   4. J         Y := B V, J := b Y W            (B X would save nothing and costs half a digit of J)
//   5. T         X := W^T W, lower blocks        (in the place of V)
//                T := diag(alpha) X, each lower block written to both places: T / alpha is symmetric to the bit
//
// This is Eigen's arithmetic, packet by packet, and not its LLT class: that one reports no order of a bad pivot and
// lets NaN pass, and with the library's triangular solve and products a matrix takes 2.4 times as long (54 against 131
// us at the AVX-512 level of a Sapphire Rapids server).
//
// 6.3 MFLOP: 1/9 factor, 1/9 invert, 1/9 X, 6/9 J. No allocation, no dependence on anything but the arguments and the
// floating-point mode of the calling thread.
#include "level.h"
#include "tile.h"

namespace vdn_delta::cpu::VDN_CPU_LEVEL {
namespace {

constexpr int align_down(int x, int unit) { return x / unit * unit; }
constexpr int align_up(int x, int unit) { return (x + unit - 1) / unit * unit; }

template <int kCount>
struct Vecs {
  static constexpr int count = kCount;
};

// Step 1. The strict upper triangle of A is not read, not even to be thrown away. Below the diagonal U is written only
// inside the diagonal squares (zeros: tiles of step 2 may reach there).
void load_upper(const Problem& problem, float* U) {
  const Packet scale = splat(problem.a_scale);
  for (int i = 0; i < kDim; i += kLanes) {
    for (int j = 0; j < i; j += kLanes) {
      const Square square = transpose(load_square(problem.A + i * kDim + j, kDim));
      for (int r = 0; r < kLanes; ++r) store(U + (j + r) * kPitch + i, pk::pmul(scale, square.row[r]));
    }
    for (int r = i; r < i + kLanes; ++r) {
      for (int c = i; c < r; ++c) {
        U[c * kPitch + r] = problem.a_scale * problem.A[r * kDim + c];
        U[r * kPitch + c] = 0.0f;
      }
      // One rounding at every level, as on the GPU.
      U[r * kPitch + r] = __builtin_fmaf(problem.a_scale, problem.A[r * kDim + r], 1.0f);
    }
  }
}

// One packet of columns takes all eight rows at once, to have enough sums under way; two packets take what fits.
template <int kVecs>
constexpr int tile_rows() {
  return kVecs == 1 ? kBlock : kTileRows;
}

// Calls tile(column, packets) over the columns [begin, end), two packets at a time, the last one alone if need be.
template <class TileFunction>
VDN_INLINE void for_columns(int begin, int end, const TileFunction& tile) {
  int column = begin;
  for (; column + 2 * kLanes <= end; column += 2 * kLanes) tile(column, Vecs<2>{});
  for (; column < end; column += kLanes) tile(column, Vecs<1>{});
}

// Step 2 for the eight rows at `row`. Returns 0, or 1 + the offset of the first bad pivot.
template <Order kOrder>
VDN_INLINE int eliminate_rows(int row, float* U, float* W) {
  for_columns(align_down(row, kLanes), kDim, [&](int column, auto vecs) {
    constexpr int kRows = tile_rows<vecs.count>();
    for (int r = row; r < row + kBlock; r += kRows)
      subtract<kRows, vecs.count>(U + r, U + column, row, U + r * kPitch + column);
  });

  DiagonalBlock block;
  const int bad = factor_block<kOrder>(U + row * kPitch + row, &block);
  if (bad != 0) return bad;

  // The diagonal block of U is never read again: only the columns to its right go on.
  for (int column = align_down(row + kBlock, kLanes); column < kDim; column += kLanes)
    solve_rows<kOrder>(block, U + row * kPitch + column);

  // W(k, c) is zero for c > k: rows above a tile's first column add nothing to it. The rest of a row is set to zero,
  // for the tiles that reach across the diagonal.
  const int w_end = align_up(row + kBlock, kLanes);
  for_columns(0, w_end, [&](int column, auto vecs) {
    constexpr int kRows = tile_rows<vecs.count>();
    for (int r = row; r < row + kBlock; r += kRows) {
      multiply<kRows, vecs.count, Left::kColumns>(
          U + r, kPitch, W + column, kPitch, column, row, [&](int i, int v, const Packet& sum) {
            store(W + (r + i) * kPitch + column + v * kLanes, pk::psub(splat(0.0f), sum));
          });
    }
  });
  for (int r = row; r < row + kBlock; ++r) {
    for (int column = w_end; column < kDim; column += kLanes) store(W + r * kPitch + column, splat(0.0f));
    W[r * kPitch + r] = 1.0f;
  }
  for (int column = 0; column < w_end; column += kLanes) solve_rows<Order::kChunked>(block, W + row * kPitch + column);
  return 0;
}

// Step 2. Returns the order of the first bad pivot, or 0.
int eliminate(float* U, float* W) {
  int bad = eliminate_rows<Order::kStraight>(0, U, W);
  int row = 0;
  while (bad == 0 && (row += kBlock) < kDim) bad = eliminate_rows<Order::kChunked>(row, U, W);
  return bad == 0 ? 0 : row + bad;
}

// Step 3. The panels of step 4 are two packets wide: what they read below the diagonal squares must be zero.
void transpose_lower(const float* W, float* V) {
  for (int i = 0; i < kDim; i += kLanes) {
    for (int j = 0; j <= i; j += kLanes) {
      const Square square = transpose(load_square(W + i * kPitch + j, kPitch));
      for (int r = 0; r < kLanes; ++r) store(V + (j + r) * kPitch + i, square.row[r]);
    }
    const int below = align_down(i, 2 * kLanes);
    for (int r = i; below < i && r < i + kLanes; ++r) store(V + r * kPitch + below, splat(0.0f));
  }
}

// Step 4. A panel of columns at a time, so that the panel of the triangular factor stays in L1.
void write_injection(const Problem& problem, const float* W, const float* V, float* Y) {
  constexpr int kPanel = 2 * kLanes;
  for (int column = 0; column < kDim; column += kPanel) {
    for (int row = 0; row < kDim; row += kTileRows) {
      multiply<kTileRows, 2, Left::kRows>(
          problem.B + row * kDim, kDim, V + column, kPitch, 0, column + kPanel,
          [&](int r, int v, const Packet& sum) { store(Y + (row + r) * kPitch + column + v * kLanes, sum); });
    }
  }
  const Packet scale = splat(problem.b_scale);
  for (int column = 0; column < kDim; column += kPanel) {
    for (int row = 0; row < kDim; row += kTileRows) {
      multiply<kTileRows, 2, Left::kRows>(
          Y + row * kPitch, kPitch, W + column, kPitch, column, kDim, [&](int r, int v, const Packet& sum) {
            store(problem.J + (row + r) * kDim + column + v * kLanes, pk::pmul(scale, sum));
          });
    }
  }
}

// Step 5, products: rows [row, row + 8) of X up to the end of the diagonal square; X(i, c) needs k >= i only.
void gram_lower(const float* W, float* X) {
  for (int row = 0; row < kDim; row += kBlock) {
    for_columns(0, align_up(row + kBlock, kLanes), [&](int column, auto vecs) {
      constexpr int kRows = tile_rows<vecs.count>();
      for (int r = row; r < row + kBlock; r += kRows) {
        multiply<kRows, vecs.count, Left::kColumns>(
            W + r, kPitch, W + column, kPitch, row, kDim,
            [&](int i, int v, const Packet& sum) { store(X + (r + i) * kPitch + column + v * kLanes, sum); });
      }
    });
  }
}

// Step 5, result.
void write_transition(const Problem& problem, const float* X) {
  for (int i = 0; i < kDim; i += kLanes) {
    for (int j = 0; j <= i; j += kLanes) {
      const Square square = load_square(X + i * kPitch + j, kPitch);
      for (int r = 0; r < kLanes; ++r)
        store(problem.T + (i + r) * kDim + j, pk::pmul(splat(problem.alpha[i + r]), square.row[r]));
      if (j == i) continue;
      const Square mirrored = transpose(square);
      for (int r = 0; r < kLanes; ++r)
        store(problem.T + (j + r) * kDim + i, pk::pmul(splat(problem.alpha[j + r]), mirrored.row[r]));
    }
  }
}

}  // namespace

std::int32_t solve(const Problem& problem, float* scratch) noexcept {
  float* const U = scratch;
  float* const W = U + kDim * kPitch;
  float* const Y = W + kDim * kPitch;

  load_upper(problem, U);
  const int bad = eliminate(U, W);
  if (bad != 0) return bad;
  transpose_lower(W, U);
  write_injection(problem, W, U, Y);
  gram_lower(W, U);
  write_transition(problem, U);
  return 0;
}

}  // namespace vdn_delta::cpu::VDN_CPU_LEVEL
