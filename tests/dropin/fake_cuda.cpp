// SPDX-License-Identifier: Apache-2.0
//
// A made-up CUDA runtime; see fake_cuda.h. The functions with two underscores are those that nvcc's output calls when
// the program is loaded and inside a kernel's stub on the host.
#include "fake_cuda.h"

#include <map>
#include <utility>

#include "params.h"

namespace fake {

Runtime* runtime = nullptr;

namespace {

thread_local int current = 0;
thread_local cudaError_t last = cudaSuccess;
thread_local cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;

// The rooms of the registered kernels, by the address of the stub.
std::map<const void*, std::string>& kernels() {
  static std::map<const void*, std::string> all;
  return all;
}

cudaError_t answer(cudaError_t error) {
  ++runtime->calls;
  if (error != cudaSuccess) last = error;
  return error;
}

}  // namespace

cudaError_t last_error() { return last; }
cudaStreamCaptureMode capture_mode() { return mode; }

}  // namespace fake

using fake::answer;
using fake::runtime;

extern "C" {

void** __cudaRegisterFatBinary(void*) {
  static void* handle = nullptr;
  return &handle;
}
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}
void __cudaRegisterFunction(void**, const char* stub, char*, const char* name, int, void*, void*, void*, void*, int*) {
  const std::string text = name, before = "vdn_delta_factors_128_f32_";
  const auto begin = text.rfind(before) + before.size();
  fake::kernels()[stub] = text.substr(begin, text.find("ENS", begin) - begin);
}
cudaError_t __cudaGetKernel(cudaKernel_t*, const void*) { return cudaSuccess; }
cudaError_t __cudaLaunchKernel(cudaKernel_t, dim3, dim3, void**, std::size_t, cudaStream_t) { return cudaSuccess; }
unsigned __cudaPopCallConfiguration(dim3*, dim3*, std::size_t*, void*) { return 0; }

cudaError_t cudaGetDevice(int* device) {
  *device = fake::current;
  return answer(cudaSuccess);
}
cudaError_t cudaSetDevice(int device) {
  fake::current = device;
  return answer(cudaSuccess);
}
cudaError_t cudaGetLastError() {
  ++runtime->calls;
  return std::exchange(fake::last, cudaSuccess);
}
const char* cudaGetErrorName(cudaError_t) { return "cudaErrorMadeUp"; }
const char* cudaGetErrorString(cudaError_t) { return "made up"; }

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  std::swap(*mode, fake::mode);
  return answer(cudaSuccess);
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  switch (attribute) {
    case cudaDevAttrComputeCapabilityMajor: *value = runtime->capability_major; break;
    case cudaDevAttrComputeCapabilityMinor: *value = runtime->capability_minor; break;
    case cudaDevAttrMultiProcessorCount: *value = runtime->multiprocessors; break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin: *value = runtime->shared_bytes_limit; break;
    default: return answer(cudaErrorInvalidValue);
  }
  return answer(cudaSuccess);
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* kernel) {
  if (fake::mode != cudaStreamCaptureModeRelaxed) ++runtime->unsafe_in_capture;
  *attributes = cudaFuncAttributes{};
  attributes->numRegs = 168;
  attributes->ptxVersion = attributes->binaryVersion = runtime->code;
  const bool is_single = fake::kernels()[kernel] == "single";
  attributes->maxThreadsPerBlock = is_single && runtime->code_is_plain ? 32 : 1024;
  if (is_single && !runtime->single_has_code) return answer(cudaErrorNoKernelImageForDevice);
  return answer(runtime->get_attributes);
}
cudaError_t cudaFuncSetAttribute(const void*, cudaFuncAttribute, int value) {
  ++runtime->prepares;
  if (runtime->set_attribute != cudaSuccess) return answer(runtime->set_attribute);
  return answer(value > runtime->shared_bytes_limit ? cudaErrorInvalidValue : cudaSuccess);
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void*, int, std::size_t,
                                                                   unsigned) {
  *blocks = 1;
  return answer(cudaSuccess);
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void*, int, std::size_t) {
  *blocks = 1;
  return answer(cudaSuccess);
}
cudaError_t cudaOccupancyMaxActiveClusters(int* clusters, const void*, const cudaLaunchConfig_t*) {
  *clusters = runtime->clusters;
  return answer(cudaSuccess);
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* kernel, void** args) {
  ++runtime->launches;
  runtime->kernel = fake::kernels()[kernel];
  runtime->grid = config->gridDim.x;
  runtime->stream = config->stream;
  runtime->device = fake::current;
  runtime->cluster = 1;
  runtime->programmatic = false;
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    const auto& attribute = config->attrs[i];
    if (attribute.id == cudaLaunchAttributeClusterDimension) runtime->cluster = attribute.val.clusterDim.x;
    if (attribute.id == cudaLaunchAttributeProgrammaticStreamSerialization)
      runtime->programmatic = attribute.val.programmaticStreamSerializationAllowed != 0;
  }
  const auto* bytes = static_cast<const unsigned char*>(args[0]);
  runtime->params.assign(bytes, bytes + sizeof(vdn_delta::Params));
  return answer(runtime->launch);
}

}  // extern "C"
