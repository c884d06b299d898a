// SPDX-License-Identifier: Apache-2.0
//
// A CUDA runtime for tests of src/host/device.cpp.
#include "fake_runtime.h"

#include <utility>

namespace fake {

Runtime* runtime = nullptr;

namespace {

thread_local int current = 0;
thread_local cudaError_t last = cudaSuccess;
thread_local cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;

cudaError_t answer(cudaError_t error) {
  ++runtime->calls;
  if (error != cudaSuccess) last = error;
  return error;
}

}  // namespace

cudaError_t last_error() { return last; }
void set_last_error(cudaError_t error) { last = error; }
cudaStreamCaptureMode capture_mode() { return mode; }
int current_device() { return current; }

}  // namespace fake

using fake::answer;
using fake::runtime;

extern "C" {

cudaError_t cudaGetDevice(int* device) {
  *device = fake::current;
  return answer(runtime->get_device);
}

cudaError_t cudaSetDevice(int device) {
  if (device < 0 || device >= runtime->devices) return answer(cudaErrorInvalidDevice);
  fake::current = device;
  return answer(cudaSuccess);
}

cudaError_t cudaDriverGetVersion(int* version) {
  if (runtime->driver_get_version == cudaSuccess) *version = runtime->driver;
  return answer(runtime->driver_get_version);
}

cudaError_t cudaGetLastError() {
  ++runtime->calls;
  return std::exchange(fake::last, cudaSuccess);
}

cudaError_t cudaPeekAtLastError() { return fake::last; }

const char* cudaGetErrorName(cudaError_t error) {
  return error == cudaErrorMemoryAllocation ? "cudaErrorMemoryAllocation" : "cudaErrorOther";
}
const char* cudaGetErrorString(cudaError_t) { return "made up"; }

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  std::swap(*mode, fake::mode);
  return answer(cudaSuccess);
}

cudaError_t cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus* status) {
  *status = runtime->capture;
  return answer(runtime->is_capturing);
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  if (device < 0 || device >= runtime->devices) return answer(cudaErrorInvalidDevice);
  switch (attribute) {
    case cudaDevAttrComputeCapabilityMajor: *value = runtime->at(device).capability_major; break;
    case cudaDevAttrComputeCapabilityMinor: *value = runtime->at(device).capability_minor; break;
    case cudaDevAttrMultiProcessorCount: *value = runtime->at(device).multiprocessors; break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin: *value = runtime->at(device).shared_bytes_limit; break;
    default: return answer(cudaErrorInvalidValue);
  }
  return answer(cudaSuccess);
}

}  // extern "C"

namespace vdn_delta::host {

namespace {

// Like the real functions, which lose an error that was pending.
void note_prepare() {
  fake::last = cudaSuccess;
  runtime->prepared_device = fake::current_device();
  if (fake::capture_mode() != cudaStreamCaptureModeRelaxed) ++runtime->unsafe_in_capture;
}

int launch(vdn_variant_t variant, const Params& params, const LaunchShape& shape, void* stream) {
  ++runtime->launches;
  runtime->launched = variant;
  runtime->params = params;
  runtime->shape = shape;
  runtime->stream = stream;
  return answer(runtime->launch);
}

}  // namespace

int prepare_pair(VariantFacts* facts) {
  ++runtime->pair_prepares;
  note_prepare();
  *facts = runtime->at(fake::current_device()).pair;
  return answer(runtime->prepare_pair != cudaSuccess ? runtime->prepare_pair : runtime->prepare);
}

int launch_pair(const Params& params, const LaunchShape& shape, void* stream) {
  return launch(VDN_VARIANT_PAIR, params, shape, stream);
}

int prepare_compact(VariantFacts* facts) {
  ++runtime->compact_prepares;
  note_prepare();
  *facts = runtime->at(fake::current_device()).compact;
  return answer(runtime->prepare);
}

int launch_compact(const Params& params, const LaunchShape& shape, void* stream) {
  return launch(VDN_VARIANT_COMPACT, params, shape, stream);
}

int prepare_single(VariantFacts* facts) {
  ++runtime->prepares;
  note_prepare();
  *facts = runtime->at(fake::current_device()).kernel;
  return answer(runtime->prepare_single != cudaSuccess ? runtime->prepare_single : runtime->prepare);
}

int launch_single(const Params& params, const LaunchShape& shape, void* stream) {
  return launch(VDN_VARIANT_SINGLE, params, shape, stream);
}

}  // namespace vdn_delta::host
