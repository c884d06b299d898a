// SPDX-License-Identifier: Apache-2.0
//
// Something that computes T and J and is timed and checked under one name: a variant of the library or a baseline.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "../tests/support/inputs.h"
#include "vdn_delta/vdn_delta.h"

namespace vdn_delta::bench {

class Contender {
 public:
  virtual ~Contender() = default;

  // As on the command line: "auto", "single", "pair", "compact", "cpu", "baseline:<name>".
  virtual std::string name() const = 0;
  // As in the records: "auto" has the name of the variant that it takes for n matrices.
  virtual std::string name_for(std::int64_t) const { return name(); }

  // Computes T and J of a batch in host memory, once; outputs are poisoned before.
  virtual void solve(const support::Batch& batch, float* T, float* J) = 0;

  bool is_baseline() const { return name().rfind("baseline:", 0) == 0; }
};

// Throws with the library's words if `status`, of a call of `what`, is not a success.
void check_library(vdn_status_t status, const char* what);

// A batch of n matrices for timing: at most kTimingMatrices different ones of family silu (1008 tokens, beta scale 1),
// repeated. Generating thousands of them would take longer than timing them.
constexpr std::int64_t kTimingMatrices = 128;
support::Batch make_timing_batch(std::int64_t n, int threads);

}  // namespace vdn_delta::bench
