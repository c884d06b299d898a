// SPDX-License-Identifier: Apache-2.0
//
// The library for tvm-ffi: tensors of PyTorch, NumPy, JAX and others come in without a copy, and every failure goes out
// as an exception. One file over the public C API, to be built against libvdn_delta; Meson does so where it finds
// tvm-ffi-config, and any tool that compiles a .cpp with tvm-ffi can (flashinfer-bench among them).
//
//     module = tvm_ffi.load_module("libvdn_delta_ffi.so")
//     module.vdn_delta_factors(A, B, alpha, transition, injection)
//
// Outputs come last and are the caller's: nothing is allocated. CUDA tensors go to the current stream that the
// framework has given tvm-ffi, CPU tensors to the CPU path on all processors.
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/dtype.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/optional.h>
#include <tvm/ffi/string.h>
#include <vdn_delta/vdn_delta.h>

#include <cstdint>
#include <sstream>
#include <string>

// The C API works on the current device, so that the runtime is needed to make the tensors' device the current one.
#if !defined(VDN_DELTA_FFI_NO_CUDA) && !__has_include(<cuda_runtime_api.h>)
#define VDN_DELTA_FFI_NO_CUDA
#endif
#ifndef VDN_DELTA_FFI_NO_CUDA
#include <cuda_runtime_api.h>
#endif

namespace {

using tvm::ffi::Optional;
using tvm::ffi::String;
using tvm::ffi::TensorView;

std::string shape_of(const TensorView& tensor, int dimensions) {
  std::ostringstream text;
  for (int i = 0; i < dimensions; ++i) text << (i > 0 ? ", " : "[") << tensor.size(i);
  return text.str() + (dimensions > 0 ? "]" : "[]");
}

std::string strides_of(const TensorView& tensor) {
  std::ostringstream text;
  for (int i = 0; i < tensor.ndim(); ++i) text << (i > 0 ? ", " : "[") << tensor.stride(i);
  return text.str() + "]";
}

// `tensor` has the first `dimensions` sizes of `like`, its device, this type and no holes.
void check(const char* name, const TensorView& tensor, const TensorView& like, int dimensions, int code,
           const char* type) {
  const DLDataType dtype = tensor.dtype();
  if (dtype.code != code || dtype.bits != 32 || dtype.lanes != 1)
    TVM_FFI_THROW(TypeError) << name << " must be " << type << ", not " << tvm::ffi::DLDataTypeToString(dtype);
  const DLDevice device = tensor.device(), wanted = like.device();
  if (device.device_type != wanted.device_type || device.device_id != wanted.device_id)
    TVM_FFI_THROW(ValueError) << name << " must be on the device of A";
  bool good = tensor.ndim() == dimensions;
  for (int i = 0; good && i < dimensions; ++i) good = tensor.size(i) == like.size(i);
  if (!good)
    TVM_FFI_THROW(ValueError) << name << " must have the shape " << shape_of(like, dimensions) << ", not "
                              << shape_of(tensor, tensor.ndim());
  if (!tensor.IsContiguous())
    TVM_FFI_THROW(ValueError) << name << " must be contiguous, not of shape " << shape_of(tensor, dimensions)
                              << " with strides " << strides_of(tensor);
}

void check_status(vdn_status_t status) {
  switch (status) {
    case VDN_STATUS_SUCCESS: return;
    case VDN_STATUS_INVALID_ARGUMENT:
    case VDN_STATUS_NULL_POINTER:
    case VDN_STATUS_OVERLAP: TVM_FFI_THROW(ValueError) << "vdn_delta: " << vdn_last_error_message(); break;
    default: TVM_FFI_THROW(RuntimeError) << "vdn_delta: " << vdn_last_error_message(); break;
  }
}

#ifndef VDN_DELTA_FFI_NO_CUDA
void check_cuda(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  (void)cudaGetLastError();
  TVM_FFI_THROW(RuntimeError) << "vdn_delta: " << what << ": " << cudaGetErrorString(error);
}

// A device is the current one while this lives.
class DeviceGuard {
 public:
  explicit DeviceGuard(int device) {
    check_cuda(cudaGetDevice(&before_), "cudaGetDevice");
    if (device == before_) return;
    check_cuda(cudaSetDevice(device), "cudaSetDevice");
    changed_ = true;
  }
  ~DeviceGuard() {
    if (changed_ && cudaSetDevice(before_) != cudaSuccess) (void)cudaGetLastError();
  }
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;

 private:
  int before_ = 0;
  bool changed_ = false;
};
#endif

vdn_variant_t variant_of(const String& name) {
  const std::string text = name;
  if (text == "auto") return VDN_VARIANT_AUTO;
  if (text == "pair") return VDN_VARIANT_PAIR;
  if (text == "single") return VDN_VARIANT_SINGLE;
  if (text == "compact") return VDN_VARIANT_COMPACT;
  TVM_FFI_THROW(ValueError) << "variant must be \"auto\", \"pair\", \"single\" or \"compact\", not \"" << text << "\"";
}

// A, B, transition, injection [..., 128, 128], alpha [..., 128], info [...] of int32.
void factors_with(TensorView A, TensorView B, TensorView alpha, TensorView transition, TensorView injection,
                  Optional<TensorView> info, String variant, double a_scale, double b_scale) {
  const int dimensions = A.ndim();
  if (dimensions < 2 || A.size(dimensions - 1) != VDN_DELTA_DIM || A.size(dimensions - 2) != VDN_DELTA_DIM)
    TVM_FFI_THROW(ValueError) << "A must have the shape [..., 128, 128], not " << shape_of(A, dimensions);
  check("A", A, A, dimensions, kDLFloat, "float32");
  check("B", B, A, dimensions, kDLFloat, "float32");
  check("alpha", alpha, A, dimensions - 1, kDLFloat, "float32");
  check("transition", transition, A, dimensions, kDLFloat, "float32");
  check("injection", injection, A, dimensions, kDLFloat, "float32");
  std::int64_t n = 1;
  for (int i = 0; i < dimensions - 2; ++i) n *= A.size(i);

  vdn_delta_options_t options = VDN_DELTA_OPTIONS_INIT;
  options.variant = variant_of(variant);
  options.a_scale = static_cast<float>(a_scale);
  options.b_scale = static_cast<float>(b_scale);
  if (info.has_value()) {
    const TensorView words = info.value();
    check("info", words, A, dimensions - 2, kDLInt, "int32");
    options.info = static_cast<std::int32_t*>(words.data_ptr());
  }
  const auto* a = static_cast<const float*>(A.data_ptr());
  const auto* b = static_cast<const float*>(B.data_ptr());
  const auto* scale = static_cast<const float*>(alpha.data_ptr());
  auto* T = static_cast<float*>(transition.data_ptr());
  auto* J = static_cast<float*>(injection.data_ptr());
  const DLDevice device = A.device();
  if (device.device_type == kDLCPU) {
    check_status(vdn_delta_factors_host(n, a, b, scale, T, J, &options, 0));
    return;
  }
  if (device.device_type != kDLCUDA) TVM_FFI_THROW(ValueError) << "the tensors must be on a CUDA device or on the CPU";
#ifndef VDN_DELTA_FFI_NO_CUDA
  if (n == 0) return;
  const DeviceGuard guard(device.device_id);
  void* stream = TVMFFIEnvGetStream(device.device_type, device.device_id);
  check_status(vdn_delta_factors(n, a, b, scale, T, J, &options, stream));
#else
  TVM_FFI_THROW(RuntimeError) << "vdn_delta: this binding was built without CUDA";
#endif
}

void factors(TensorView A, TensorView B, TensorView alpha, TensorView transition, TensorView injection) {
  factors_with(A, B, alpha, transition, injection, Optional<TensorView>(), String("auto"), 1.0, 1.0);
}

// Before a stream capture: loads the kernels on a device, -1 for the current one.
void prepare(std::int64_t device) { check_status(vdn_delta_prepare(static_cast<int>(device))); }

std::int64_t version() { return vdn_version(); }

}  // namespace

// What the macro makes has a parameter that it does not use; only clang takes it for ours.
#pragma GCC diagnostic ignored "-Wunused-parameter"
TVM_FFI_DLL_EXPORT_TYPED_FUNC(vdn_delta_factors, factors);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(vdn_delta_factors_with, factors_with);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(vdn_delta_prepare, prepare);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(vdn_version, version);
