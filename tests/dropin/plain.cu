// SPDX-License-Identifier: Apache-2.0
//
// The one-file header with nothing but CUDA: a program's own launcher.
#define VDN_DELTA_FACTORS_NO_TVM_FFI
#include "vdn_delta_factors.cuh"

#ifdef VDN_DELTA_FACTORS_HAS_TVM_FFI
#error "the tensor wrapper was to be left out"
#endif

cudaError_t VDN_TEST_NAME(const float* A, const float* B, const float* alpha, float* transition, float* injection,
                          int n, cudaStream_t stream) {
  vdn_delta_factors::Args args;
  args.transition = transition;
  args.injection = injection;
  args.A = A;
  args.B = B;
  args.alpha = alpha;
  args.n = n;
  return vdn_delta_factors::launch<vdn_delta_factors::Variant::kAuto>(args, stream);
}
