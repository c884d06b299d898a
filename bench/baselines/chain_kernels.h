// SPDX-License-Identifier: Apache-2.0
//
// The elementwise steps around the library calls of the GPU baseline.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace vdn_delta::bench {

// M = I + A and L = I, both [n,128,128]: the factorization and the triangular solve work in place.
cudaError_t chain_begin(std::int64_t n, const float* A, float* M, float* L, cudaStream_t stream);

// T = diag(alpha) X.
cudaError_t chain_scale(std::int64_t n, const float* X, const float* alpha, float* T, cudaStream_t stream);

}  // namespace vdn_delta::bench
