// SPDX-License-Identifier: Apache-2.0
//
// LAPACK by its Fortran symbols: LAPACKE adds nothing here but another library to find.
#include "lapack_cpu.h"

#include <atomic>

#include "../../tests/support/inputs.h"
#include "../../tests/support/parallel.h"

extern "C" {
void spotrf_(const char* uplo, const int* n, float* a, const int* lda, int* info);
void spotri_(const char* uplo, const int* n, float* a, const int* lda, int* info);
void sgemm_(const char* transa, const char* transb, const int* m, const int* n, const int* k, const float* alpha,
            const float* a, const int* lda, const float* b, const int* ldb, const float* beta, float* c,
            const int* ldc);
// Only OpenBLAS has this one.
__attribute__((weak)) void openblas_set_num_threads(int threads);
}

namespace vdn_delta::bench {
namespace {

using support::kDim;
using support::kMatrix;

bool one_matrix(const float* A, const float* B, const float* alpha, float* T, float* J) {
  // Row-major lower is column-major upper. T holds I + A, then the factor, then X.
  for (int i = 0; i < kDim; ++i) {
    for (int j = 0; j < i; ++j) T[i * kDim + j] = A[i * kDim + j];
    T[i * kDim + i] = A[i * kDim + i] + 1.0f;
  }
  int info = 0;
  spotrf_("U", &kDim, T, &kDim, &info);
  if (info != 0) return false;
  spotri_("U", &kDim, T, &kDim, &info);
  if (info != 0) return false;
  for (int i = 0; i < kDim; ++i) {
    for (int j = 0; j < i; ++j) T[j * kDim + i] = T[i * kDim + j];
  }
  // Row-major J = B X is column-major J^T = X^T B^T.
  const float one = 1.0f, zero = 0.0f;
  sgemm_("N", "N", &kDim, &kDim, &kDim, &one, T, &kDim, B, &kDim, &zero, J, &kDim);
  for (int i = 0; i < kDim; ++i) {
    for (int j = 0; j < kDim; ++j) T[i * kDim + j] *= alpha[i];
  }
  return true;
}

}  // namespace

bool lapack_chain(std::int64_t n, const float* A, const float* B, const float* alpha, float* T, float* J, int threads) {
  if (openblas_set_num_threads != nullptr) openblas_set_num_threads(1);
  std::atomic<bool> good{true};
  support::parallel_for(n, threads, [&](std::int64_t m) {
    if (!one_matrix(A + m * kMatrix, B + m * kMatrix, alpha + m * kDim, T + m * kMatrix, J + m * kMatrix)) good = false;
  });
  return good;
}

}  // namespace vdn_delta::bench
