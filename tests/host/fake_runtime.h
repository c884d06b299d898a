// SPDX-License-Identifier: Apache-2.0
//
// A CUDA runtime for tests of src/host/device.cpp: devices that are made up, and errors that come when they are asked
// for. It stands in for the real one at link time, as do its kernel functions for src/host/kernels.cpp.
//
// Like the real runtime it keeps a last error, which a failed call sets and cudaGetLastError clears, a current device
// per thread, and a capture mode per thread.
#pragma once

#include <cuda_runtime_api.h>

#include <atomic>
#include <map>
#include <string>

#include "host/kernels.h"

namespace fake {

struct Device {
  int capability_major = 9;
  int capability_minor = 0;
  int multiprocessors = 132;
  int shared_bytes_limit = 227 * 1024;
  vdn_delta::host::VariantFacts kernel{160, 70000, 3, 0};   // what prepare_single reports
  vdn_delta::host::VariantFacts pair{448, 120000, 1, 66};   // what prepare_pair reports
  vdn_delta::host::VariantFacts compact{640, 96000, 1, 0};  // what prepare_compact reports
};

struct Runtime {
  int devices = 64;
  int driver = 13000;            // its version, 0: there is none
  Device device;                 // they are all alike,
  std::map<int, Device> others;  // but for these ordinals
  const Device& at(int ordinal) const {
    const auto found = others.find(ordinal);
    return found == others.end() ? device : found->second;
  }
  cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;

  // What the next calls answer, if not success.
  cudaError_t get_device = cudaSuccess;
  cudaError_t driver_get_version = cudaSuccess;
  cudaError_t is_capturing = cudaSuccess;
  cudaError_t prepare = cudaSuccess;       // of all kernels
  cudaError_t prepare_pair = cudaSuccess;  // of pair, before `prepare`
  cudaError_t prepare_single = cudaSuccess;
  cudaError_t launch = cudaSuccess;

  // What was done.
  std::atomic<int> prepares{0};  // of single
  std::atomic<int> pair_prepares{0};
  std::atomic<int> compact_prepares{0};
  std::atomic<int> launches{0};
  std::atomic<int> calls{0};              // of the runtime, cudaGetLastError included
  std::atomic<int> unsafe_in_capture{0};  // code loaded in a mode that would invalidate a capture
  std::atomic<int> prepared_device{-1};   // current while prepare_single ran
  vdn_variant_t launched = VDN_VARIANT_AUTO;
  vdn_delta::Params params{};          // of the last launch
  vdn_delta::host::LaunchShape shape;  // of the last launch
  const void* stream = nullptr;        // of the last launch
};

extern Runtime* runtime;  // set by the test

cudaError_t last_error();  // without clearing it
void set_last_error(cudaError_t error);
cudaStreamCaptureMode capture_mode();
int current_device();

}  // namespace fake
