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
using cudaStream_t = struct EmulatedStream*;

struct cudaFuncAttributes {
  int numRegs = 0;
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
template <class Kernel>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* ctas, Kernel*, int threads, std::size_t shared_bytes) {
  *ctas = threads <= 1024 && shared_bytes <= 227 * 1024 ? 1 : 0;
  return cudaSuccess;
}
