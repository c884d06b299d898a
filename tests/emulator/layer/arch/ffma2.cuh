// SPDX-License-Identifier: Apache-2.0
//
// src/arch/ffma2.cuh for the emulator, for the architecture VDN_EMULATED_ARCH. For sm_100 packed pairs of 64 bits; for
// older ones the shipped file itself: what it does there is plain C++ on three intrinsics.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "arch/target.cuh"

#ifndef VDN_EMULATED_ARCH
#error "VDN_EMULATED_ARCH: 900 or 1000, as __CUDA_ARCH__"
#endif
#if VDN_EMULATED_ARCH >= 1000

namespace vdn_delta::arch {

inline float ffma(float a, float b, float c) { return std::fma(a, b, c); }

constexpr bool kPackedFma = true;

// The low half is x.
struct Pair {
  std::uint64_t bits;
};
inline Pair make_pair(float x, float y) {
  std::uint32_t lo, hi;
  std::memcpy(&lo, &x, 4);
  std::memcpy(&hi, &y, 4);
  return {lo | std::uint64_t{hi} << 32};
}
inline float2 pair_values(Pair pair) {
  const std::uint32_t lo = static_cast<std::uint32_t>(pair.bits), hi = static_cast<std::uint32_t>(pair.bits >> 32);
  float2 v;
  std::memcpy(&v.x, &lo, 4);
  std::memcpy(&v.y, &hi, 4);
  return v;
}
namespace detail {
inline Pair fma2(Pair a, Pair b, Pair c) {
  const float2 x = pair_values(a), y = pair_values(b), z = pair_values(c);
  return make_pair(std::fma(x.x, y.x, z.x), std::fma(x.y, y.y, z.y));
}
}  // namespace detail
inline Pair fadd2(Pair a, Pair b) {
  const float2 x = pair_values(a), y = pair_values(b);
  return make_pair(x.x + y.x, x.y + y.y);
}
inline Pair fmul2(float a, float2 b) { return make_pair(a * b.x, a * b.y); }
template <int rows>
void ffma2_column(Pair (&acc)[rows], const float (&a)[rows], float2 b) {
  for (int i = 0; i < rows; ++i) acc[i] = detail::fma2(make_pair(a[i], a[i]), make_pair(b.x, b.y), acc[i]);
}
template <int pairs>
void ffma2_row(Pair (&acc)[pairs], float a, const float2 (&b)[pairs]) {
  for (int u = 0; u < pairs; ++u) acc[u] = detail::fma2(make_pair(a, a), make_pair(b[u].x, b[u].y), acc[u]);
}
template <int pairs>
void ffma2_row_back(Pair (&acc)[pairs], float a, const float2 (&b)[pairs]) {
  ffma2_row(acc, a, b);
}
inline Pair ffma2(Pair acc, float a, float2 b) { return detail::fma2(make_pair(a, a), make_pair(b.x, b.y), acc); }

}  // namespace vdn_delta::arch

#else

inline float __fmaf_rn(float a, float b, float c) { return std::fma(a, b, c); }
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fmul_rn(float a, float b) { return a * b; }

#include "../../../../src/arch/ffma2.cuh"

#endif
