// SPDX-License-Identifier: Apache-2.0
//
// What both host sides, that of the library (device.cpp) and that of the one-file header (dropin/), have to know of the
// CUDA runtime: how to load code while streams are captured, and which errors mean that code cannot run on a device.
#pragma once

#include <cuda_runtime_api.h>

namespace vdn_delta::host {

// While alive, this thread may load code though a stream is being captured, here or on another thread, and no capture
// is invalidated by it.
class RelaxedCapture {
 public:
  RelaxedCapture() noexcept { exchange(); }
  ~RelaxedCapture() { exchange(); }
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  void exchange() noexcept {
    if (cudaThreadExchangeStreamCaptureMode(&mode_) != cudaSuccess) (void)cudaGetLastError();
  }
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

// Whether an error while preparing a kernel says "this code cannot run on this device" rather than "something went
// wrong". A size of shared memory beyond the device's limit is an invalid value to the runtime.
inline bool means_unsupported(cudaError_t error, int shared_bytes, int shared_bytes_limit) noexcept {
  switch (error) {
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorInvalidDeviceFunction:
    case cudaErrorInvalidKernelImage:
    case cudaErrorInvalidClusterSize:
    case cudaErrorInvalidPtx:
    case cudaErrorUnsupportedPtxVersion:
    case cudaErrorJitCompilerNotFound:
    case cudaErrorJitCompilationDisabled: return true;
    default: return error == cudaErrorInvalidValue && shared_bytes > shared_bytes_limit;
  }
}

}  // namespace vdn_delta::host
