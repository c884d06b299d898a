// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime.h>

#include "soak_kernels.h"

namespace vdn_delta::soak {
namespace {

constexpr int kThreads = 256, kCtas = 1024;

__device__ std::int64_t first() { return static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x; }
__device__ std::int64_t stride() { return static_cast<std::int64_t>(gridDim.x) * kThreads; }

__device__ std::uint32_t wanted(const Arrays& arrays, const Array& array, std::int64_t word) {
  const std::int64_t i = word - array.before;
  if (array.pool == nullptr || i < 0 || i >= arrays.n * array.per_matrix) return kPoison;
  const std::int64_t m = i / array.per_matrix;
  return array.pool[static_cast<std::int64_t>(arrays.order[m]) * array.per_matrix + i % array.per_matrix];
}

__global__ void fill_kernel(Arrays arrays, bool trigger) {
#if __CUDA_ARCH__ >= 900  // before that no grid starts early
  if (trigger) cudaTriggerProgrammaticLaunchCompletion();
#endif
  for (int a = 0; a < kInputs; ++a) {
    const Array& array = arrays.array[a];
    for (std::int64_t i = first(); i < array.used; i += stride()) array.base[i] = wanted(arrays, array, i);
  }
}

__global__ void check_kernel(Arrays arrays, unsigned long long* wrong) {
  for (int a = 0; a < kArrays; ++a) {
    const Array& array = arrays.array[a];
    unsigned long long found = 0;
    for (std::int64_t i = first(); i < array.used; i += stride()) found += array.base[i] != wanted(arrays, array, i);
    if (found != 0) atomicAdd(wrong + a, found);
  }
}

}  // namespace

cudaError_t load() {
  cudaFuncAttributes attributes;
  const cudaError_t error = cudaFuncGetAttributes(&attributes, reinterpret_cast<const void*>(fill_kernel));
  if (error != cudaSuccess) return error;
  return cudaFuncGetAttributes(&attributes, reinterpret_cast<const void*>(check_kernel));
}

cudaError_t fill(const Arrays& arrays, bool trigger, cudaStream_t stream) {
  fill_kernel<<<kCtas, kThreads, 0, stream>>>(arrays, trigger);
  return cudaGetLastError();
}

cudaError_t check(const Arrays& arrays, unsigned long long* wrong, cudaStream_t stream) {
  check_kernel<<<kCtas, kThreads, 0, stream>>>(arrays, wrong);
  return cudaGetLastError();
}

}  // namespace vdn_delta::soak
