// SPDX-License-Identifier: Apache-2.0
//
// Accumulators in pairs, and a column of fp32 fused multiply-adds on them: packed (fma.rn.f32x2, PTX ISA 8.6) on sm_100
// and newer, one by one elsewhere, with the same bits, since every element is one fma with one rounding either way.
//
// The order of the instructions matters on sm_90. Its register file has two banks (even and odd numbers) that give one
// operand a clock each, so an fma takes one clock only if one of its three operands is the one that the previous fma
// had in the same place, and the other two lie in different banks. A column of the outer product, down one side and up
// the other, keeps b in place; the compiler puts the rest into banks as well as it can (docs/performance.md).
#pragma once

#include <cstdint>

#include "arch/target.cuh"

namespace vdn_delta::arch {

// One fp32 fma; kernels are built with -fmad=false and spell every fma.
VDN_DEVICE float ffma(float a, float b, float c) { return __fmaf_rn(a, b, c); }

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1000

constexpr bool kPackedFma = true;

struct Pair {
  std::uint64_t bits;
};
VDN_DEVICE Pair make_pair(float x, float y) {
  Pair pair;
  asm("mov.b64 %0, {%1, %2};" : "=l"(pair.bits) : "f"(x), "f"(y));
  return pair;
}
VDN_DEVICE float2 pair_values(Pair pair) {
  float2 v;
  asm("mov.b64 {%0, %1}, %2;" : "=f"(v.x), "=f"(v.y) : "l"(pair.bits));
  return v;
}
// a + b, element by element. https://docs.nvidia.com/cuda/parallel-thread-execution/ "add.f32x2"
VDN_DEVICE Pair fadd2(Pair a, Pair b) {
  Pair d;
  asm("add.rn.f32x2 %0, %1, %2;" : "=l"(d.bits) : "l"(a.bits), "l"(b.bits));
  return d;
}
// {a b.x, a b.y}. "mul.f32x2"
VDN_DEVICE Pair fmul2(float a, float2 b) {
  Pair d;
  asm("mul.rn.f32x2 %0, %1, %2;" : "=l"(d.bits) : "l"(make_pair(a, a).bits), "l"(make_pair(b.x, b.y).bits));
  return d;
}
// acc[i] += a[i] {b.x, b.y} for i = 0 .. rows - 1. "fma.f32x2"
template <int rows>
VDN_DEVICE void ffma2_column(Pair (&acc)[rows], const float (&a)[rows], float2 b) {
  const Pair column = make_pair(b.x, b.y);
  VDN_UNROLL
  for (int i = 0; i < rows; ++i)
    asm("fma.rn.f32x2 %0, %1, %2, %0;" : "+l"(acc[i].bits) : "l"(make_pair(a[i], a[i]).bits), "l"(column.bits));
}
// acc[u] += a {b[u].x, b[u].y} for u = 0 .. pairs - 1.
template <int pairs>
VDN_DEVICE void ffma2_row(Pair (&acc)[pairs], float a, const float2 (&b)[pairs]) {
  VDN_UNROLL
  for (int u = 0; u < pairs; ++u)
    asm("fma.rn.f32x2 %0, %1, %2, %0;"
        : "+l"(acc[u].bits)
        : "l"(make_pair(a, a).bits), "l"(make_pair(b[u].x, b[u].y).bits));
}
// The same in the other direction, where there is one.
template <int pairs>
VDN_DEVICE void ffma2_row_back(Pair (&acc)[pairs], float a, const float2 (&b)[pairs]) {
  ffma2_row(acc, a, b);
}
// acc + a {b.x, b.y}
VDN_DEVICE Pair ffma2(Pair acc, float a, float2 b) {
  Pair d;  // not in place: its register is free to be another one
  asm("fma.rn.f32x2 %0, %1, %2, %3;"
      : "=l"(d.bits)
      : "l"(make_pair(a, a).bits), "l"(make_pair(b.x, b.y).bits), "l"(acc.bits));
  return d;
}

#else

constexpr bool kPackedFma = false;  // half of a pair costs half

struct Pair {
  float2 value;
};
VDN_DEVICE Pair make_pair(float x, float y) { return {make_float2(x, y)}; }
VDN_DEVICE float2 pair_values(Pair pair) { return pair.value; }
VDN_DEVICE Pair fadd2(Pair a, Pair b) {
  return make_pair(__fadd_rn(a.value.x, b.value.x), __fadd_rn(a.value.y, b.value.y));
}
VDN_DEVICE Pair fmul2(float a, float2 b) { return make_pair(__fmul_rn(a, b.x), __fmul_rn(a, b.y)); }
template <int rows>
VDN_DEVICE void ffma2_column(Pair (&acc)[rows], const float (&a)[rows], float2 b) {
  VDN_UNROLL
  for (int i = 0; i < rows; ++i) acc[i].value.x = __fmaf_rn(a[i], b.x, acc[i].value.x);
  VDN_UNROLL
  for (int i = rows - 1; i >= 0; --i) acc[i].value.y = __fmaf_rn(a[i], b.y, acc[i].value.y);
}
template <int pairs>
VDN_DEVICE void ffma2_row(Pair (&acc)[pairs], float a, const float2 (&b)[pairs]) {
  VDN_UNROLL
  for (int u = 0; u < pairs; ++u) {
    acc[u].value.x = __fmaf_rn(a, b[u].x, acc[u].value.x);
    acc[u].value.y = __fmaf_rn(a, b[u].y, acc[u].value.y);
  }
}
template <int pairs>
VDN_DEVICE void ffma2_row_back(Pair (&acc)[pairs], float a, const float2 (&b)[pairs]) {
  VDN_UNROLL
  for (int u = pairs - 1; u >= 0; --u) {
    acc[u].value.y = __fmaf_rn(a, b[u].y, acc[u].value.y);
    acc[u].value.x = __fmaf_rn(a, b[u].x, acc[u].value.x);
  }
}
VDN_DEVICE Pair ffma2(Pair acc, float a, float2 b) {
  return make_pair(__fmaf_rn(a, b.x, acc.value.x), __fmaf_rn(a, b.y, acc.value.y));
}

#endif

}  // namespace vdn_delta::arch
