// SPDX-License-Identifier: Apache-2.0
//
// The README's GPU example. Compiled with every build that has CUDA, called by tests/host/api_device.cpp.
#include <cuda_runtime_api.h>
#include <vdn_delta/vdn_delta.h>

vdn_status_t enqueue_factors(int64_t n, const float* A, const float* B, const float* alpha, float* T, float* J,
                             int32_t* info, cudaStream_t stream) {
  vdn_delta_options_t options = VDN_DELTA_OPTIONS_INIT;
  options.info = info;  // or leave it out
  return vdn_delta_factors(n, A, B, alpha, T, J, &options, stream);
}
