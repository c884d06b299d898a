// SPDX-License-Identifier: Apache-2.0
//
// src/arch/launch.cuh for the emulator: the kernel has run when it returns, and a fault is a failed launch.
#pragma once

#include "arch/target.cuh"

namespace vdn_delta::arch {

struct LaunchShape {
  int grid;
  int block;
  int shared_bytes;
  bool programmatic;
  int cluster = 1;
};

template <class... Args>
cudaError_t launch(void (*kernel)(Args...), const LaunchShape& shape, cudaStream_t, const Args&... args) {
  emulator::LaunchConfig config;
  config.grid = shape.grid;
  config.block = shape.block;
  config.cluster = shape.cluster;
  config.shared_bytes = shape.shared_bytes;
  config.programmatic = shape.programmatic;
  const emulator::Fault fault = machine().run(config, [&]() { kernel(args...); });
  return fault ? cudaErrorLaunchFailure : cudaSuccess;
}

}  // namespace vdn_delta::arch
