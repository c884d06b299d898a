// SPDX-License-Identifier: Apache-2.0
//
// What the soak does on the device beside the library's calls: it fills the inputs of a call from a pool of matrices,
// and holds every word around and inside its arrays to what it must be. Both return what the runtime answered.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace vdn_delta::soak {

constexpr std::uint32_t kPoison = 0xffffffffu;

// One array of a call: `used` words from `base`; matrix m is the `per_matrix` words from base + before + m *
// per_matrix, and everything else is poison. What it must hold is matrix order[m] of `pool`; null: poison throughout.
struct Array {
  std::uint32_t* base;
  const std::uint32_t* pool;
  std::int64_t before, used;
  int per_matrix;
};

// The arrays of a call: A, B, alpha, T, J, info.
constexpr int kArrays = 6, kInputs = 3;
struct Arrays {
  Array array[kArrays];
  const std::int32_t* order;  // [n]
  std::int64_t n;
};

// Writes the inputs. With `trigger`, a programmatic successor may start at once, long before they are there.
cudaError_t fill(const Arrays& arrays, bool trigger, cudaStream_t stream);

// wrong[a] += the words of array a that are not what they must be.
cudaError_t check(const Arrays& arrays, unsigned long long* wrong, cudaStream_t stream);

// Loads both kernels, as a launch may come inside a capture.
cudaError_t load();

}  // namespace vdn_delta::soak
