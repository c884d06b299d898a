// SPDX-License-Identifier: Apache-2.0
//
// The tensor side of the one-file header: the function that SGLang's load_jit exports. Tensors are tvm-ffi's, which is
// how PyTorch tensors arrive there without a copy; what is wrong with one becomes an exception in Python.
#pragma once

#include "dropin/launch.cuh"

#ifdef VDN_DELTA_FACTORS_HAS_TVM_FFI

namespace vdn_delta::dropin {

using tvm::ffi::TensorView;

// fp32, dense, of the wanted shape, on the wanted CUDA device.
inline void check_tensor(const char* name, const TensorView& tensor, std::initializer_list<std::int64_t> shape,
                         DLDevice device) {
  const DLDataType type = tensor.dtype();
  if (type.code != kDLFloat || type.bits != 32 || type.lanes != 1)
    TVM_FFI_THROW(TypeError) << name << " must be float32";
  if (tensor.device().device_type != kDLCUDA) TVM_FFI_THROW(ValueError) << name << " must be a CUDA tensor";
  if (tensor.device().device_id != device.device_id)
    TVM_FFI_THROW(ValueError) << name << " must be on the device of A, cuda:" << device.device_id
                              << ", not on cuda:" << tensor.device().device_id;
  bool good = tensor.ndim() == static_cast<int>(shape.size());
  std::string wanted;
  int i = 0;
  for (const std::int64_t size : shape) {
    good = good && tensor.size(i) == size;
    wanted += (i++ == 0 ? "" : ", ") + std::to_string(size);
  }
  if (!good) TVM_FFI_THROW(ValueError) << name << " must have the shape [" << wanted << "]";
  if (!tensor.IsContiguous()) TVM_FFI_THROW(ValueError) << name << " must be contiguous";
}

inline void check_cuda(cudaError_t error, const char* what) {
  if (error != cudaSuccess)
    TVM_FFI_THROW(RuntimeError) << "vdn_delta_factors: " << what << ": " << cudaGetErrorString(error) << " ("
                                << cudaGetErrorName(error) << ")";
}

// The current device while alive.
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

// transition = diag(alpha) (I + A)^-1, injection = B (I + A)^-1, on the current stream of the tensors' device.
template <Variant variant>
struct FactorsKernel {
  static void run(TensorView transition, TensorView injection, TensorView A, TensorView B, TensorView alpha) {
    const DLDevice device = A.device();
    const std::int64_t n = A.ndim() > 0 ? A.size(0) : 0;
    check_tensor("A", A, {n, kDim, kDim}, device);
    check_tensor("B", B, {n, kDim, kDim}, device);
    check_tensor("alpha", alpha, {n, kDim}, device);
    check_tensor("transition", transition, {n, kDim, kDim}, device);
    check_tensor("injection", injection, {n, kDim, kDim}, device);
    Args args;
    args.transition = static_cast<float*>(transition.data_ptr());
    args.injection = static_cast<float*>(injection.data_ptr());
    args.A = static_cast<const float*>(A.data_ptr());
    args.B = static_cast<const float*>(B.data_ptr());
    args.alpha = static_cast<const float*>(alpha.data_ptr());
    args.n = n;
    if (const char* fault = find_fault(args)) TVM_FFI_THROW(ValueError) << "vdn_delta_factors: " << fault;
    if (n == 0) return;
    const DeviceGuard guard(device.device_id);
    auto* stream = static_cast<cudaStream_t>(TVMFFIEnvGetStream(device.device_type, device.device_id));
    check_cuda(launch<variant>(args, stream), "launch");
  }
};
using VdnDeltaFactorsKernel = FactorsKernel<Variant::kAuto>;

}  // namespace vdn_delta::dropin

#endif
