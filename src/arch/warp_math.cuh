// SPDX-License-Identifier: Apache-2.0
//
// Scalar and warp instructions that are more than an operator.
#pragma once

#include "arch/target.cuh"

namespace vdn_delta::arch {

VDN_DEVICE float fmul(float a, float b) { return __fmul_rn(a, b); }
VDN_DEVICE float fadd(float a, float b) { return __fadd_rn(a, b); }

// The value of v in lane `source`; all lanes take part. "shfl.sync"
VDN_DEVICE float warp_shuffle(float v, int source) { return __shfl_sync(0xffffffffu, v, source); }

// 1/x within 1 ulp; x and the result are flushed when subnormal. "rcp.approx.ftz.f32"
VDN_DEVICE float rcp_approx_ftz(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

VDN_DEVICE float quiet_nan() { return __int_as_float(0x7fc00000); }

}  // namespace vdn_delta::arch
