// SPDX-License-Identifier: Apache-2.0
//
// What an H200 made of a few inputs, to the bit: T and J are a contract of the elimination's order, and every machine
// that runs the kernels must give the same. The inputs are small integers times powers of two, summed exactly, so that
// no library's exp or product has a say in them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "inputs.h"

namespace vdn_delta::support {

struct StoredCase {
  const char* name;
  Batch batch;
  float a_scale, b_scale;
};
std::vector<StoredCase> stored_cases();

// The rows of stored_bits.inc for these outputs: one for each eight rows of each matrix.
std::vector<std::string> bit_rows(const StoredCase& stored, const std::vector<float>& T, const std::vector<float>& J);

// What is stored for a case; a difference shows the first row that is not the same.
std::vector<std::string> stored_rows(const StoredCase& stored);

}  // namespace vdn_delta::support
