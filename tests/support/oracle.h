// SPDX-License-Identifier: Apache-2.0
//
// The fp64 reference and the error measures of docs/numerics.md.
#pragma once

#include <cstdint>
#include <vector>

#include "inputs.h"

namespace vdn_delta::support {

struct Reference {
  std::vector<double> T, J;  // [n,128,128] each
};

// T = diag(alpha) (I + a A)^-1, J = b B (I + a A)^-1 in fp64 from the lower triangle of A (fp64 Cholesky), in parallel.
Reference solve_reference(std::int64_t n, const float* A, const float* B, const float* alpha, double a_scale = 1.0,
                          double b_scale = 1.0, int threads = 0);

Reference reference_of(const Batch& batch, double a_scale = 1.0, double b_scale = 1.0);

// Relative Frobenius errors: over the whole batch, and of the worst single matrix. NaN or Inf in an output gives
// an infinite error.
struct Errors {
  double err_T = 0, err_J = 0;      // batch-wide
  double worst_T = 0, worst_J = 0;  // worst single matrix
};
Errors compare(std::int64_t n, const float* T, const float* J, const Reference& reference);

// The largest absolute difference of an element; NaN if one is NaN.
double largest_difference(const std::vector<float>& out, const std::vector<double>& reference);

// The four-call chain in plain fp32 (Cholesky, triangular solve of I, Linv^T Linv, B times it; straight sums): the
// yardstick of the families that have no fixed bar.
void four_call_chain(std::int64_t n, const float* A, const float* B, const float* alpha, float* T, float* J,
                     int threads = 0);
Errors chain_errors(const Batch& batch, const Reference& reference);

}  // namespace vdn_delta::support
