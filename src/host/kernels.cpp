// SPDX-License-Identifier: Apache-2.0
//
// The kernel rooms' doors as plain functions: types are translated here, nothing is decided.
#include "kernels.h"

#include "../compact/launch.h"
#include "../pair/launch.h"
#include "../single/launch.h"

namespace vdn_delta::host {

namespace {

// For rooms whose matrices have one CTA each.
template <class KernelFacts>
int prepare_ctas(cudaError_t (*prepare)(KernelFacts*), VariantFacts* facts) {
  KernelFacts kernel{};
  const cudaError_t error = prepare(&kernel);
  facts->threads = kernel.threads;
  facts->shared_bytes = kernel.shared_bytes;
  facts->ctas_per_sm = error == cudaSuccess ? kernel.ctas_per_sm : 0;
  return error;
}

}  // namespace

int prepare_compact(VariantFacts* facts) { return prepare_ctas(compact::prepare, facts); }

int launch_compact(const Params& params, const LaunchShape& shape, void* stream) {
  const compact::Launch how{shape.grid, shape.programmatic_launch};
  return compact::launch(params, how, static_cast<cudaStream_t>(stream));
}

int prepare_pair(VariantFacts* facts) {
  pair::KernelFacts kernel{};
  const cudaError_t error = pair::prepare(&kernel);
  facts->threads = kernel.threads;
  facts->shared_bytes = kernel.shared_bytes;
  facts->ctas_per_sm = kernel.ctas_per_sm;
  facts->clusters = error == cudaSuccess ? kernel.clusters : 0;
  return error;
}

int launch_pair(const Params& params, const LaunchShape& shape, void* stream) {
  const pair::Launch how{shape.grid / pair::kClusterSize, shape.programmatic_launch};
  return pair::launch(params, how, static_cast<cudaStream_t>(stream));
}

int prepare_single(VariantFacts* facts) { return prepare_ctas(single::prepare, facts); }

int launch_single(const Params& params, const LaunchShape& shape, void* stream) {
  const single::Launch how{shape.grid, shape.programmatic_launch};
  return single::launch(params, how, static_cast<cudaStream_t>(stream));
}

}  // namespace vdn_delta::host
