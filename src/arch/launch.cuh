// SPDX-License-Identifier: Apache-2.0
//
// The launch of a kernel: one call, no device query, no synchronization.
#pragma once

#include "arch/target.cuh"

namespace vdn_delta::arch {

struct LaunchShape {
  int grid;
  int block;
  int shared_bytes;
  bool programmatic;  // programmatic stream serialization: the grid may start before its predecessor has ended
};

template <class... Args>
cudaError_t launch(void (*kernel)(Args...), const LaunchShape& shape, cudaStream_t stream, const Args&... args) {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(shape.grid));
  config.blockDim = dim3(static_cast<unsigned>(shape.block));
  config.dynamicSmemBytes = static_cast<std::size_t>(shape.shared_bytes);
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = shape.programmatic ? 1 : 0;
  return cudaLaunchKernelEx(&config, kernel, args...);
}

}  // namespace vdn_delta::arch
