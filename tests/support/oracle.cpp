// SPDX-License-Identifier: Apache-2.0
//
// The fp64 reference (Eigen's LLT in double) and the plain fp32 chain (loops that say the order of every sum).
#include "oracle.h"

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>

#include "parallel.h"

namespace vdn_delta::support {
namespace {

using Square = Eigen::Matrix<double, kDim, kDim, Eigen::RowMajor>;
using SquareFloat = Eigen::Matrix<float, kDim, kDim, Eigen::RowMajor>;

// out += left(row, k) * right(k, :), k ascending: a straight sum per element.
void add_row(float left, const float* right, float* out, int begin, int end) {
  for (int c = begin; c < end; ++c) out[c] += left * right[c];
}

struct Chain {
  float L[kMatrix], Linv[kMatrix], X[kMatrix];
};

void chain_matrix(const float* A, const float* B, const float* alpha, float* T, float* J, Chain* s) {
  // Cholesky, row by row: L(i, j) = (A(i, j) - sum_k L(i, k) L(j, k)) / L(j, j).
  float* const L = s->L;
  for (int i = 0; i < kDim; ++i) {
    for (int j = 0; j <= i; ++j) {
      float sum = A[i * kDim + j] + (i == j ? 1.0f : 0.0f);
      for (int k = 0; k < j; ++k) sum -= L[i * kDim + k] * L[j * kDim + k];
      L[i * kDim + j] = i == j ? std::sqrt(sum) : sum / L[j * kDim + j];
    }
  }
  // L Linv = I.
  float* const Linv = s->Linv;
  std::fill_n(Linv, kMatrix, 0.0f);
  for (int i = 0; i < kDim; ++i) {
    float* row = Linv + i * kDim;
    row[i] = 1.0f;
    for (int k = 0; k < i; ++k) add_row(-L[i * kDim + k], Linv + k * kDim, row, 0, k + 1);
    for (int c = 0; c <= i; ++c) row[c] /= L[i * kDim + i];
  }
  // X = Linv^T Linv, J = B X.
  float* const X = s->X;
  std::fill_n(X, kMatrix, 0.0f);
  for (int k = 0; k < kDim; ++k) {
    for (int i = 0; i < kDim; ++i) add_row(Linv[k * kDim + i], Linv + k * kDim, X + i * kDim, 0, kDim);
  }
  std::fill_n(J, kMatrix, 0.0f);
  for (int i = 0; i < kDim; ++i) {
    for (int k = 0; k < kDim; ++k) add_row(B[i * kDim + k], X + k * kDim, J + i * kDim, 0, kDim);
    for (int c = 0; c < kDim; ++c) T[i * kDim + c] = alpha[i] * X[i * kDim + c];
  }
}

// Sum of squares of the difference and of the reference; infinity where the output is not finite.
struct Squares {
  double difference = 0, reference = 0;
};

Squares squares(const float* out, const double* reference) {
  Squares s;
  for (std::int64_t i = 0; i < kMatrix; ++i) {
    const double d = static_cast<double>(out[i]) - reference[i];
    s.difference += d * d;
    s.reference += reference[i] * reference[i];
  }
  if (!std::isfinite(s.difference)) s.difference = std::numeric_limits<double>::infinity();
  return s;
}

double relative(double difference, double reference) {
  if (difference == 0) return 0;
  return std::sqrt(difference / reference);
}

}  // namespace

Reference solve_reference(std::int64_t n, const float* A, const float* B, const float* alpha, double a_scale,
                          double b_scale, int threads) {
  Reference reference;
  reference.T.resize(static_cast<std::size_t>(n * kMatrix));
  reference.J.resize(static_cast<std::size_t>(n * kMatrix));
  parallel_for(n, threads, [&](std::int64_t m) {
    Square M = a_scale * Eigen::Map<const SquareFloat>(A + m * kMatrix).cast<double>();
    M.diagonal().array() += 1.0;
    const Eigen::LLT<Square, Eigen::Lower> llt(M);  // reads the lower triangle
    Square X = llt.solve(Square::Identity());
    Eigen::Map<Square>(reference.J.data() + m * kMatrix).noalias() =
        b_scale * (Eigen::Map<const SquareFloat>(B + m * kMatrix).cast<double>() * X);
    Eigen::Map<Square>(reference.T.data() + m * kMatrix) =
        Eigen::Map<const Eigen::Matrix<float, kDim, 1>>(alpha + m * kDim).cast<double>().asDiagonal() * X;
  });
  return reference;
}

Reference reference_of(const Batch& batch, double a_scale, double b_scale) {
  return solve_reference(batch.n, batch.A.data(), batch.B.data(), batch.alpha.data(), a_scale, b_scale);
}

Errors compare(std::int64_t n, const float* T, const float* J, const Reference& reference) {
  Errors errors;
  Squares all_T, all_J;
  for (std::int64_t m = 0; m < n; ++m) {
    const Squares t = squares(T + m * kMatrix, reference.T.data() + m * kMatrix);
    const Squares j = squares(J + m * kMatrix, reference.J.data() + m * kMatrix);
    errors.worst_T = std::max(errors.worst_T, relative(t.difference, t.reference));
    errors.worst_J = std::max(errors.worst_J, relative(j.difference, j.reference));
    all_T.difference += t.difference, all_T.reference += t.reference;
    all_J.difference += j.difference, all_J.reference += j.reference;
  }
  errors.err_T = relative(all_T.difference, all_T.reference);
  errors.err_J = relative(all_J.difference, all_J.reference);
  return errors;
}

double largest_difference(const std::vector<float>& out, const std::vector<double>& reference) {
  double largest = 0;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const double difference = std::fabs(static_cast<double>(out[i]) - reference[i]);
    if (!(difference <= largest)) largest = difference;  // a NaN stays
  }
  return largest;
}

void four_call_chain(std::int64_t n, const float* A, const float* B, const float* alpha, float* T, float* J,
                     int threads) {
  parallel_for(n, threads, [&](std::int64_t m) {
    std::vector<Chain> scratch(1);  // 192 KiB: too much for the stack of a thread under a sanitizer
    chain_matrix(A + m * kMatrix, B + m * kMatrix, alpha + m * kDim, T + m * kMatrix, J + m * kMatrix, scratch.data());
  });
}

Errors chain_errors(const Batch& batch, const Reference& reference) {
  std::vector<float> T(batch.A.size()), J(batch.A.size());
  four_call_chain(batch.n, batch.A.data(), batch.B.data(), batch.alpha.data(), T.data(), J.data());
  return compare(batch.n, T.data(), J.data(), reference);
}

}  // namespace vdn_delta::support
