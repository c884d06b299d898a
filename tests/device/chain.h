// SPDX-License-Identifier: Apache-2.0
//
// The four-call chain, the yardstick of the input families that have no fixed bar.
#pragma once

#include "call.h"

namespace vdn_delta::test {

// By cuSOLVER and cuBLAS on the GPU (the baseline of the bench) where the build has them, else, and in a quick run, by
// the plain loops of the tests on the CPU. `by` says which.
Result run_chain(const Batch& batch, std::string* by);

}  // namespace vdn_delta::test
