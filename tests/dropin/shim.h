// SPDX-License-Identifier: Apache-2.0
//
// The one-file header behind plain functions, so that a test which nvcc does not compile can call it.
#pragma once

#include <cstdint>

namespace shim {

enum Variant { kDefault, kSingle, kPair, kCompact, kAuto };

struct Call {
  float* transition;
  float* injection;
  const float* A;
  const float* B;
  const float* alpha;
  std::int64_t n;
  std::int32_t* info;
  float a_scale, b_scale;
  bool programmatic_launch;
};

int launch(Variant variant, const Call& call, void* stream);  // a cudaError_t
const char* find_fault(const Call& call);
int prepare();            // a cudaError_t
Call call_of_defaults();  // what Args holds if nothing is set

}  // namespace shim
