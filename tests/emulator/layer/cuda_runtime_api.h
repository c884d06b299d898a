// SPDX-License-Identifier: Apache-2.0
//
// The few words of the CUDA runtime that the kernel rooms' doors use (launch.h, prepare), for the emulator. An emulated
// device holds one CTA of a kernel on a multiprocessor if it fits.
#pragma once

#include <cstddef>

enum cudaError_t {
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorLaunchFailure = 719,
};
struct dim3 {
  unsigned x = 1, y = 1, z = 1;
  dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};
using cudaStream_t = struct EmulatedStream*;

struct cudaFuncAttributes {
  int numRegs = 0;
  int maxThreadsPerBlock = 1024;
};
enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize = 8 };

template <class Kernel>
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, Kernel*) {
  *attributes = cudaFuncAttributes{};
  return cudaSuccess;
}
template <class Kernel>
cudaError_t cudaFuncSetAttribute(Kernel*, cudaFuncAttribute, int value) {
  return value <= 227 * 1024 ? cudaSuccess : cudaErrorInvalidValue;
}
enum cudaLaunchAttributeID { cudaLaunchAttributeClusterDimension = 4 };
struct cudaLaunchAttribute {
  cudaLaunchAttributeID id;
  struct {
    struct {
      unsigned x, y, z;
    } clusterDim;
  } val;
};
struct cudaLaunchConfig_t {
  dim3 gridDim, blockDim;
  std::size_t dynamicSmemBytes = 0;
  cudaLaunchAttribute* attrs = nullptr;
  unsigned numAttrs = 0;
};
// As many multiprocessors as a trial's clusters can ask for.
template <class Kernel>
cudaError_t cudaOccupancyMaxActiveClusters(int* clusters, Kernel*, const cudaLaunchConfig_t* config) {
  *clusters = config->blockDim.x <= 1024 && config->dynamicSmemBytes <= 227 * 1024 ? 8 : 0;
  return cudaSuccess;
}

template <class Kernel>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* ctas, Kernel*, int threads, std::size_t shared_bytes) {
  *ctas = threads <= 1024 && shared_bytes <= 227 * 1024 ? 1 : 0;
  return cudaSuccess;
}
