// SPDX-License-Identifier: Apache-2.0
//
// Register tiles of the CPU path: the one product loop, the triangular solve of eight rows, the block transpose.
// Written once on Eigen's packets; the flags of the including object decide what a packet is. Included by solve.cpp
// only.
//
// Two orders of summation, chosen by what cancels (docs/numerics.md has the measurements):
//
// kChunked: k in chunks of 32 that start at multiples of 32, each summed from zero, the chunks then added in order. The
//   rounding error grows with 32 + 128 / 32 terms and not with 128.
// kStraight: every product subtracted at once, fused, from what is left. For the first eight eliminations only: where
//   one direction dominates A (the mean of k does), the first pivots take nearly all of it away, and a sum formed first
//   and subtracted then would leave its rounding, in the size of A, in a residual that is a thousand times smaller.
//
// A sum does not depend on the width of a packet: what a wider tile adds to it are products with exact zeros.
#pragma once

#include <Eigen/Core>

#include "level.h"

namespace vdn_delta::cpu::VDN_CPU_LEVEL {

namespace pk = Eigen::internal;
using Packet = pk::packet_traits<float>::type;

inline constexpr int kLanes = pk::packet_traits<float>::size;
inline constexpr int kChunk = 32;
inline constexpr int kBlock = 8;  // rows that are eliminated together
static_assert(kDim % kLanes == 0 && kPitch % kLanes == 0 && kLanes <= 16);

// Rows of a tile of two packets: eight where the processor has 32 vector registers (16 sums, 2 rows of b and a
// broadcast), four where it has 16.
#if defined(__AVX512F__) || defined(__aarch64__)
inline constexpr int kTileRows = 8;
#else
inline constexpr int kTileRows = 4;
#endif

#define VDN_INLINE inline __attribute__((always_inline))

VDN_INLINE Packet load(const float* p) { return pk::ploadu<Packet>(p); }
VDN_INLINE void store(float* p, const Packet& x) { pk::pstoreu(p, x); }
VDN_INLINE Packet splat(float x) { return pk::pset1<Packet>(x); }

// The scalar twin of pmadd: fused exactly where the packets are.
VDN_INLINE float madd(float a, float b, float c) {
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
  return __builtin_fmaf(a, b, c);
#else
  return a * b + c;
#endif
}

// How the left operand of a product lies in memory: its rows are the rows or the columns of what `a` points to.
enum class Left { kRows, kColumns };

enum class Order { kChunked, kStraight };

template <int kRows, int kVecs>
struct Tile {
  Packet at[kRows][kVecs];
};

// Calls body(r, v) for every packet of a tile, unrolled: the indices must be constants for the tile to be registers.
template <int kRows, int kVecs, class Body>
VDN_INLINE void for_tile(const Body& body) {
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < kVecs; ++v) body(r, v);
  }
}

// sum(r, v) += a(r, k) * b(k, v), k = k_begin .. k_end - 1 in this order. `a` and `b` point to row and column 0 of the
// tile and k = 0.
template <Left kLeft, int kRows, int kVecs>
VDN_INLINE void add_products(const float* a, int a_pitch, const float* b, int b_pitch, int k_begin, int k_end,
                             Tile<kRows, kVecs>* sum) {
  for (int k = k_begin; k < k_end; ++k) {
    const float* const a_k = kLeft == Left::kRows ? a + k : a + k * a_pitch;
    const float* const b_k = b + k * b_pitch;
    constexpr int kRowStep = kLeft == Left::kRows ? 0 : 1;
    Packet right[kVecs];
#pragma GCC unroll 2
    for (int v = 0; v < kVecs; ++v) right[v] = load(b_k + v * kLanes);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const Packet left = splat(a_k[kRowStep == 0 ? r * a_pitch : r]);
#pragma GCC unroll 2
      for (int v = 0; v < kVecs; ++v) sum->at[r][v] = pk::pmadd(left, right[v], sum->at[r][v]);
    }
  }
}

// total(r, v) += the products of add_products, in chunks.
template <Left kLeft, int kRows, int kVecs>
VDN_INLINE void add_chunks(const float* a, int a_pitch, const float* b, int b_pitch, int k_begin, int k_end,
                           Tile<kRows, kVecs>* total) {
  for (int k = k_begin; k < k_end;) {
    const int chunk_end = (k / kChunk + 1) * kChunk;
    const int stop = chunk_end < k_end ? chunk_end : k_end;
    Tile<kRows, kVecs> sum;
    for_tile<kRows, kVecs>([&](int r, int v) { sum.at[r][v] = splat(0.0f); });
    add_products<kLeft>(a, a_pitch, b, b_pitch, k, stop, &sum);
    for_tile<kRows, kVecs>([&](int r, int v) { total->at[r][v] = pk::padd(total->at[r][v], sum.at[r][v]); });
    k = stop;
  }
}

// emit(r, v, sum over k of a(r, k) * b(k, v)).
template <int kRows, int kVecs, Left kLeft, class Emit>
VDN_INLINE void multiply(const float* a, int a_pitch, const float* b, int b_pitch, int k_begin, int k_end,
                         const Emit& emit) {
  Tile<kRows, kVecs> total;
  for_tile<kRows, kVecs>([&](int r, int v) { total.at[r][v] = splat(0.0f); });
  add_chunks<kLeft>(a, a_pitch, b, b_pitch, k_begin, k_end, &total);
  for_tile<kRows, kVecs>([&](int r, int v) { emit(r, v, total.at[r][v]); });
}

// rows(r, v) -= sum over k < k_end of a(k, r) * b(k, v): the first kBlock terms straight, the others in chunks.
// The sign is turned twice instead of using a fused negative product, which not every packet has: the same bits.
template <int kRows, int kVecs>
VDN_INLINE void subtract(const float* a, const float* b, int k_end, float* rows) {
  Tile<kRows, kVecs> total;
  for_tile<kRows, kVecs>([&](int r, int v) { total.at[r][v] = pk::pnegate(load(rows + r * kPitch + v * kLanes)); });
  const int straight_end = kBlock < k_end ? kBlock : k_end;
  add_products<Left::kColumns>(a, kPitch, b, kPitch, 0, straight_end, &total);
  add_chunks<Left::kColumns>(a, kPitch, b, kPitch, straight_end, k_end, &total);
  for_tile<kRows, kVecs>([&](int r, int v) { store(rows + r * kPitch + v * kLanes, pk::pnegate(total.at[r][v])); });
}

// The Cholesky factor of a diagonal block: u is upper triangular with u^T u = block, `inverse` holds 1 / u(p, p).
struct DiagonalBlock {
  float u[kBlock][kBlock];
  float inverse[kBlock];
};

// Factors the block at `a` (its upper triangle). Returns 0, or the order (1..8) of the first pivot that is not a
// positive finite number. Eigen's LLT is not used here: it lets NaN and infinite pivots pass, and its blocked form
// does not say which minor failed.
template <Order kOrder>
VDN_INLINE int factor_block(const float* a, DiagonalBlock* block) {
  for (int p = 0; p < kBlock; ++p) {
    for (int c = p; c < kBlock; ++c) {
      const float entry = a[p * kPitch + c];
      float sum = kOrder == Order::kStraight ? -entry : 0.0f;
      for (int q = 0; q < p; ++q) sum = madd(block->u[q][p], block->u[q][c], sum);
      block->u[p][c] = kOrder == Order::kStraight ? -sum : entry - sum;
    }
    const float pivot = block->u[p][p];
    if (!(pivot > 0.0f && pivot <= __FLT_MAX__)) return p + 1;
    const float root = __builtin_sqrtf(pivot);
    block->u[p][p] = root;
    block->inverse[p] = 1.0f / root;
    for (int c = p + 1; c < kBlock; ++c) block->u[p][c] *= block->inverse[p];
  }
  return 0;
}

// rows := u^-T rows, for one packet of columns of the eight rows at `rows`.
template <Order kOrder>
VDN_INLINE void solve_rows(const DiagonalBlock& block, float* rows) {
  Packet x[kBlock];
#pragma GCC unroll 8
  for (int p = 0; p < kBlock; ++p) {
    const Packet entry = load(rows + p * kPitch);
    Packet sum = kOrder == Order::kStraight ? pk::pnegate(entry) : splat(0.0f);
#pragma GCC unroll 8
    for (int q = 0; q < p; ++q) sum = pk::pmadd(splat(block.u[q][p]), x[q], sum);
    const Packet left = kOrder == Order::kStraight ? pk::pnegate(sum) : pk::psub(entry, sum);
    x[p] = pk::pmul(left, splat(block.inverse[p]));
    store(rows + p * kPitch, x[p]);
  }
}

// A kLanes x kLanes block in registers.
struct Square {
  Packet row[kLanes];
};

VDN_INLINE Square load_square(const float* p, int pitch) {
  Square s;
#pragma GCC unroll 16
  for (int r = 0; r < kLanes; ++r) s.row[r] = load(p + r * pitch);
  return s;
}

VDN_INLINE Square transpose(const Square& s) {
  if constexpr (kLanes == 1) {
    return s;
  } else {
    pk::PacketBlock<Packet, kLanes> block;
#pragma GCC unroll 16
    for (int r = 0; r < kLanes; ++r) block.packet[r] = s.row[r];
    pk::ptranspose(block);
    Square t;
#pragma GCC unroll 16
    for (int r = 0; r < kLanes; ++r) t.row[r] = block.packet[r];
    return t;
  }
}

}  // namespace vdn_delta::cpu::VDN_CPU_LEVEL
