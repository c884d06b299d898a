// SPDX-License-Identifier: Apache-2.0
//
// A CUDA runtime that is made up, linked in place of the real one with an object that nvcc has made: it knows the
// kernels by their names, answers as a chosen device would, and notes what was launched.
#pragma once

#include <cuda_runtime_api.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace fake {

struct Runtime {
  // The devices, which are all alike.
  int capability_major = 9, capability_minor = 0;
  int multiprocessors = 132;
  int shared_bytes_limit = 227 * 1024;
  int clusters = 66;
  int code = 90;               // the machine that the loaded code was built for
  bool code_is_plain = false;  // without features of its own: single's then refuses
  bool single_has_code = true;
  cudaError_t get_attributes = cudaSuccess, set_attribute = cudaSuccess, launch = cudaSuccess;  // what they answer

  // What was done.
  std::atomic<int> calls{0};     // of the runtime
  std::atomic<int> prepares{0};  // of any kernel
  std::atomic<int> launches{0};
  std::atomic<int> unsafe_in_capture{0};  // code loaded in a mode that would invalidate a capture
  std::string kernel;                     // of the last launch: its room
  unsigned grid = 0;
  unsigned cluster = 1;
  bool programmatic = false;
  int device = -1;
  cudaStream_t stream = nullptr;
  std::vector<unsigned char> params;  // the first bytes of the kernel's only argument
};

extern Runtime* runtime;  // set by the test

cudaError_t last_error();  // without clearing it
cudaStreamCaptureMode capture_mode();

}  // namespace fake
