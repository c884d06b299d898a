// SPDX-License-Identifier: Apache-2.0
//
// What crosses from the host to a kernel, and nothing else. Plain C++.
#pragma once

#include <cstdint>

namespace vdn_delta {

struct Params {
  const float* A;      // [n, 128, 128], row-major, 4-byte aligned; the strict upper triangle reaches no result
  const float* B;      // [n, 128, 128], row-major, 4-byte aligned
  const float* alpha;  // [n, 128], 4-byte aligned
  float* T;            // [n, 128, 128], row-major, 4-byte aligned
  float* J;            // [n, 128, 128], row-major, 4-byte aligned
  std::int32_t* info;  // [n] or null: 0, or the order of the first bad pivot (1..128)
  std::int64_t n;      // number of matrices, 1 .. 2^30
  float a_scale;       // > 0, finite: the inverse is of I + a_scale A
  float b_scale;       // > 0, finite: J = b_scale B (I + a_scale A)^-1
};

}  // namespace vdn_delta
