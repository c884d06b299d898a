// SPDX-License-Identifier: Apache-2.0
//
// src/arch/warp_math.cuh for the emulator. Products and sums are the CPU's, one rounding each (-ffp-contract=off).
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "arch/target.cuh"

namespace vdn_delta::arch {

inline float fmul(float a, float b) { return a * b; }
inline float fadd(float a, float b) { return a + b; }

inline float warp_shuffle(float v, int source, Where where = here()) {
  std::uint32_t bits;
  std::memcpy(&bits, &v, 4);
  bits = machine().warp_shuffle(bits, source, where);
  std::memcpy(&v, &bits, 4);
  return v;
}

// The hardware's result is within 1 ulp of 1/x. The model: the correctly rounded one, off by Settings::rcp_error ulp
// where both are normal numbers; subnormal arguments and results are flushed to zero.
inline float rcp_approx_ftz(float x) {
  if (std::fabs(x) < std::numeric_limits<float>::min()) x = std::copysign(0.0f, x);
  float y = 1.0f / x;
  if (std::isnormal(x) && std::isnormal(y)) {
    std::int32_t bits;
    std::memcpy(&bits, &y, 4);
    bits += machine().settings.rcp_error;
    float off;
    std::memcpy(&off, &bits, 4);
    if (std::isnormal(off)) y = off;
  }
  return std::fabs(y) < std::numeric_limits<float>::min() ? std::copysign(0.0f, y) : y;
}

inline float quiet_nan() { return std::numeric_limits<float>::quiet_NaN(); }

}  // namespace vdn_delta::arch
