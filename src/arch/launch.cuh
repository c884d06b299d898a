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
  int cluster = 1;    // CTAs of a cluster; the grid is a multiple of it
};

template <class... Args>
cudaError_t launch(void (*kernel)(Args...), const LaunchShape& shape, cudaStream_t stream, const Args&... args) {
  cudaLaunchAttribute attributes[2]{};
  unsigned used = 0;
  if (shape.programmatic) {
    attributes[used].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attributes[used++].val.programmaticStreamSerializationAllowed = 1;
  }
  if (shape.cluster > 1) {
    attributes[used].id = cudaLaunchAttributeClusterDimension;
    attributes[used].val.clusterDim.x = static_cast<unsigned>(shape.cluster);
    attributes[used].val.clusterDim.y = 1;
    attributes[used++].val.clusterDim.z = 1;
  }
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(shape.grid));
  config.blockDim = dim3(static_cast<unsigned>(shape.block));
  config.dynamicSmemBytes = static_cast<std::size_t>(shape.shared_bytes);
  config.stream = stream;
  config.attrs = attributes;
  config.numAttrs = used;
  return cudaLaunchKernelEx(&config, kernel, args...);
}

}  // namespace vdn_delta::arch
