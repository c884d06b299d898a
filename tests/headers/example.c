/* SPDX-License-Identifier: Apache-2.0
 *
 * The example of the README: factors of a few matrices in host memory, checked by multiplying back. On a GPU the same
 * arrays lie in device memory, and the call is vdn_delta_factors(n, A, B, alpha, T, J, &options, stream).
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <vdn_delta/vdn_delta.h>

enum { N = 4, D = VDN_DELTA_DIM };

int main(void) {
  float *A = calloc((size_t)N * D * D, sizeof *A), *B = calloc((size_t)N * D * D, sizeof *B);
  float *T = malloc((size_t)N * D * D * sizeof *T), *J = malloc((size_t)N * D * D * sizeof *J);
  float* alpha = malloc((size_t)N * D * sizeof *alpha);
  int32_t info[N];
  vdn_delta_options_t options = VDN_DELTA_OPTIONS_INIT;
  double worst = 0.0;
  int m, i, j, k, result = EXIT_FAILURE;

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

  options.info = info;
  if (vdn_delta_factors_host(N, A, B, alpha, T, J, &options, 0) != VDN_STATUS_SUCCESS) {
    fprintf(stderr, "vdn_delta_factors_host: %s\n", vdn_last_error_message());
    goto done;
  }

  /* T (I + A) = diag(alpha), and J (I + A) = B. */
  for (m = 0; m < N; ++m) {
    if (info[m] != 0) goto done; /* pivot info[m] of I + A[m] was not positive */
    for (i = 0; i < D; ++i)
      for (j = 0; j < D; ++j) {
        double t = T[(m * D + i) * D + j], s = J[(m * D + i) * D + j];
        for (k = 0; k < D; ++k) {
          t += (double)T[(m * D + i) * D + k] * A[(m * D + k) * D + j];
          s += (double)J[(m * D + i) * D + k] * A[(m * D + k) * D + j];
        }
        worst = fmax(worst, fabs(t - (i == j ? 0.5 : 0.0)));
        worst = fmax(worst, fabs(s - B[(m * D + i) * D + j]));
      }
  }
  printf("%d matrices, largest residual %.1e\n", N, worst);
  result = worst < 1e-4 ? EXIT_SUCCESS : EXIT_FAILURE;

done:
  free(A), free(B), free(T), free(J), free(alpha);
  return result;
}
