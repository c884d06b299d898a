// SPDX-License-Identifier: Apache-2.0
//
// Owned device memory, and errors as exceptions (this is a program, not the library).
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>

#include "contender.h"

namespace vdn_delta::bench {

inline void check(cudaError_t error, const char* what) {
  if (error != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(error));
}

template <class T>
class DeviceArray {
 public:
  DeviceArray() = default;
  explicit DeviceArray(std::size_t count) : count_(count) {
    void* memory = nullptr;
    check(cudaMalloc(&memory, count * sizeof(T)), "cudaMalloc");
    data_ = static_cast<T*>(memory);
  }
  DeviceArray(DeviceArray&& other) noexcept { swap(other); }
  DeviceArray& operator=(DeviceArray&& other) noexcept {
    swap(other);
    return *this;
  }
  ~DeviceArray() { cudaFree(data_); }

  T* get() const { return data_; }
  std::size_t size() const { return count_; }
  void upload(const T* from) { check(cudaMemcpy(data_, from, count_ * sizeof(T), cudaMemcpyHostToDevice), "upload"); }
  void download(T* to) const { check(cudaMemcpy(to, data_, count_ * sizeof(T), cudaMemcpyDeviceToHost), "download"); }

 private:
  void swap(DeviceArray& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(count_, other.count_);
  }
  T* data_ = nullptr;
  std::size_t count_ = 0;
};

// One set of buffers, as one call uses them. T and J start as NaN.
struct DeviceBatch {
  explicit DeviceBatch(const support::Batch& batch)
      : n(batch.n), A(batch.A.size()), B(batch.B.size()), alpha(batch.alpha.size()), T(B.size()), J(B.size()) {
    A.upload(batch.A.data());
    B.upload(batch.B.data());
    alpha.upload(batch.alpha.data());
    check(cudaMemset(T.get(), 0xff, T.size() * sizeof(float)), "poison T");
    check(cudaMemset(J.get(), 0xff, J.size() * sizeof(float)), "poison J");
  }
  static std::size_t bytes(std::int64_t n) { return static_cast<std::size_t>(n) * (4 * 128 * 128 + 128) * 4; }

  std::int64_t n;
  DeviceArray<float> A, B, alpha, T, J;
};

}  // namespace vdn_delta::bench
