/* SPDX-License-Identifier: Apache-2.0
 *
 * The example of the README: factors of a few matrices in host memory, checked by multiplying back.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <vdn_delta/vdn_delta.h>

/* T = diag(alpha) (I + A)^-1 and J = B (I + A)^-1 for n matrices in host memory, on all processors. alpha has n rows of
 * 128, info n words. Returns 0 if every matrix has its results. */
static int factors(int64_t n, const float* A, const float* B, const float* alpha, float* T, float* J, int32_t* info) {
  vdn_delta_options_t options = VDN_DELTA_OPTIONS_INIT;
  int64_t m;
  options.info = info;
  if (vdn_delta_factors_host(n, A, B, alpha, T, J, &options, 0) != VDN_STATUS_SUCCESS) {
    fprintf(stderr, "%s\n", vdn_last_error_message());
    return 1;
  }
  for (m = 0; m < n; ++m)
    if (info[m] != 0) return 1; /* pivot info[m] of I + A[m] was not positive: T[m] and J[m] are NaN */
  return 0;
}

enum { N = 4, D = VDN_DELTA_DIM };

int main(void) {
  float *A = calloc((size_t)N * D * D, sizeof *A), *B = calloc((size_t)N * D * D, sizeof *B);
  float *T = malloc((size_t)N * D * D * sizeof *T), *J = malloc((size_t)N * D * D * sizeof *J);
  float* alpha = malloc((size_t)N * D * sizeof *alpha);
  int32_t info[N];
  double worst = 0.0;
  int m, i, j, k, wrong = 0, result = EXIT_FAILURE;

  if (!A || !B || !T || !J || !alpha) goto done;

  /* A = K^T K with 64 rows K of unit norm, B = A and alpha = 0.5: so J must come out as 2 A T^T. */
  for (m = 0; m < N; ++m) {
    for (k = 0; k < 64; ++k) {
      float row[D], norm = 0.0f;
      for (i = 0; i < D; ++i) row[i] = (float)((i * 37 + k * 101 + m * 13) % 97) / 97.0f - 0.5f;
      for (i = 0; i < D; ++i) norm += row[i] * row[i];
      for (i = 0; i < D; ++i)
        for (j = 0; j < D; ++j) A[(m * D + i) * D + j] += row[i] * row[j] / norm;
    }
    for (i = 0; i < D; ++i) alpha[m * D + i] = 0.5f;
  }
  for (i = 0; i < N * D * D; ++i) B[i] = A[i];

  if (factors(N, A, B, alpha, T, J, info) != 0) goto done;

  /* T (I + A) = diag(alpha), and J (I + A) = B. */
  for (m = 0; m < N; ++m) {
    for (i = 0; i < D; ++i)
      for (j = 0; j < D; ++j) {
        double e[2];
        e[0] = T[(m * D + i) * D + j] - (i == j ? 0.5 : 0.0);
        e[1] = (double)J[(m * D + i) * D + j] - B[(m * D + i) * D + j];
        for (k = 0; k < D; ++k) {
          e[0] += (double)T[(m * D + i) * D + k] * A[(m * D + k) * D + j];
          e[1] += (double)J[(m * D + i) * D + k] * A[(m * D + k) * D + j];
        }
        for (k = 0; k < 2; ++k) {
          if (e[k] < 0.0) e[k] = -e[k];
          if (!(e[k] < 1e-4)) wrong = 1; /* NaN too */
          if (e[k] > worst) worst = e[k];
        }
      }
  }
  printf("%d matrices, largest residual %.1e%s\n", N, worst, wrong ? ", which is wrong" : "");
  result = wrong ? EXIT_FAILURE : EXIT_SUCCESS;

done:
  free(A), free(B), free(T), free(J), free(alpha);
  return result;
}
