// SPDX-License-Identifier: Apache-2.0
//
// LAPACK by its Fortran symbols: LAPACKE adds nothing here but another library to find.
#include "lapack_cpu.h"

#include <atomic>
#include <exception>
#include <thread>
#include <vector>

extern "C" {
void spotrf_(const char* uplo, const int* n, float* a, const int* lda, int* info);
void spotri_(const char* uplo, const int* n, float* a, const int* lda, int* info);
void sgemm_(const char* transa, const char* transb, const int* m, const int* n, const int* k, const float* alpha,
            const float* a, const int* lda, const float* b, const int* ldb, const float* beta, float* c,
            const int* ldc);
// Only OpenBLAS has these.
__attribute__((weak)) void openblas_set_num_threads(int threads);
__attribute__((weak)) char* openblas_get_config(void);
}

namespace vdn_delta::bench {
namespace {

constexpr int kDim = 128;
constexpr std::int64_t kMatrix = std::int64_t{kDim} * kDim;

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
  std::int64_t workers = threads > 0 ? threads : static_cast<std::int64_t>(std::thread::hardware_concurrency());
  if (workers > n) workers = n;
  if (workers < 1) workers = 1;

  std::atomic<std::int64_t> next{0};
  std::atomic<bool> good{true};
  const auto work = [&]() {
    for (std::int64_t m = next++; m < n; m = next++) {
      if (!one_matrix(A + m * kMatrix, B + m * kMatrix, alpha + m * kDim, T + m * kMatrix, J + m * kMatrix))
        good = false;
    }
  };
  std::vector<std::thread> helpers;
  try {
    helpers.reserve(static_cast<std::size_t>(workers - 1));
    for (std::int64_t i = 1; i < workers; ++i) helpers.emplace_back(work);
  } catch (const std::exception&) {
    good = false;
  }
  work();
  for (std::thread& helper : helpers) helper.join();
  return good;
}

const char* lapack_description() { return openblas_get_config != nullptr ? openblas_get_config() : "lapack"; }

}  // namespace vdn_delta::bench
