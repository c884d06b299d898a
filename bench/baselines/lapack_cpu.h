// SPDX-License-Identifier: Apache-2.0
//
// The CPU yardstick: the same T and J by a threaded loop over LAPACK.
#pragma once

#include <cstdint>

namespace vdn_delta::bench {

// For every matrix: X = (I + A)^-1 by spotrf and spotri, T = diag(alpha) X, J = B X by sgemm. Host pointers, row-major
// as in the public header, the lower triangle of A is read. The batch is split over `threads` threads (0: one per
// processor); the BLAS itself is set to one thread, for the whole process. Returns false if a factorization failed.
bool lapack_chain(std::int64_t n, const float* A, const float* B, const float* alpha, float* T, float* J, int threads);

}  // namespace vdn_delta::bench
