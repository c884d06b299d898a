// SPDX-License-Identifier: Apache-2.0
//
// Register tiles of the CPU path: the one product loop, the triangular solve of eight rows, the block transpose.
// Written once on Eigen's packets; the flags of the including object decide what a packet is. Included by solve.cpp only.
//
// Every sum runs over k in blocks of kChunk that start at multiples of kChunk: each block is summed from zero, the
// blocks are then added in order. So the rounding error grows with 32 + 128/32 terms and not with 128, and a sum does
// not depend on the width of a packet: leading terms that a wider tile adds are products with exact zeros.
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

// out(r, v) = sum over k in [k_begin, k_end) of a(r, k) * b(k, v), for kRows rows and kVecs packets. `a` and `b` point
// to row and column 0 of the tile and k = 0; `emit(r, v, sum)` takes the sums.
template <int kRows, int kVecs, Left kLeft, class Emit>
VDN_INLINE void multiply(const float* a, int a_pitch, const float* b, int b_pitch, int k_begin, int k_end,
                         const Emit& emit) {
  Packet total[kRows][kVecs];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < kVecs; ++v) total[r][v] = splat(0.0f);
  }
  for (int k = k_begin; k < k_end;) {
    const int chunk_end = (k / kChunk + 1) * kChunk;
    const int stop = chunk_end < k_end ? chunk_end : k_end;
    Packet sum[kRows][kVecs];
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
      for (int v = 0; v < kVecs; ++v) sum[r][v] = splat(0.0f);
    }
    for (; k < stop; ++k) {
      const float* a_k = kLeft == Left::kRows ? a + k : a + static_cast<std::ptrdiff_t>(k) * a_pitch;
      const float* b_k = b + static_cast<std::ptrdiff_t>(k) * b_pitch;
      Packet right[kVecs];
#pragma GCC unroll 2
      for (int v = 0; v < kVecs; ++v) right[v] = load(b_k + v * kLanes);
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) {
        const Packet left = splat(kLeft == Left::kRows ? a_k[static_cast<std::ptrdiff_t>(r) * a_pitch] : a_k[r]);
#pragma GCC unroll 2
        for (int v = 0; v < kVecs; ++v) sum[r][v] = pk::pmadd(left, right[v], sum[r][v]);
      }
    }
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
      for (int v = 0; v < kVecs; ++v) total[r][v] = pk::padd(total[r][v], sum[r][v]);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < kVecs; ++v) emit(r, v, total[r][v]);
  }
}

// The Cholesky factor of a diagonal block: u is upper triangular with u^T u = block, `inverse` holds 1 / u(p, p).
struct DiagonalBlock {
  float u[kBlock][kBlock];
  float inverse[kBlock];
};

// Factors the block at `a` (its upper triangle). Returns 0, or the order (1..8) of the first pivot that is not a
// positive finite number. Eigen's LLT is not used here: it lets NaN and infinite pivots pass and does not say which
// minor failed.
VDN_INLINE int factor_block(const float* a, DiagonalBlock* block) {
  for (int p = 0; p < kBlock; ++p) {
    for (int c = p; c < kBlock; ++c) {
      float sum = 0.0f;
      for (int q = 0; q < p; ++q) sum = madd(block->u[q][p], block->u[q][c], sum);
      block->u[p][c] = a[p * kPitch + c] - sum;
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
VDN_INLINE void solve_rows(const DiagonalBlock& block, float* rows) {
  Packet x[kBlock];
#pragma GCC unroll 8
  for (int p = 0; p < kBlock; ++p) {
    Packet sum = splat(0.0f);
#pragma GCC unroll 8
    for (int q = 0; q < p; ++q) sum = pk::pmadd(splat(block.u[q][p]), x[q], sum);
    x[p] = pk::pmul(pk::psub(load(rows + p * kPitch), sum), splat(block.inverse[p]));
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
  for (int r = 0; r < kLanes; ++r) s.row[r] = load(p + static_cast<std::ptrdiff_t>(r) * pitch);
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
