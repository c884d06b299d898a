// SPDX-License-Identifier: Apache-2.0
//
// Seeded inputs with the model's statistics: the families of docs/numerics.md.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace vdn_delta::support {

// silu: k = l2norm(silu(randn)), v = silu(randn).  normal: k = l2norm(randn), v = randn.
// shifted: k = l2norm(silu(randn + shift)), v = silu(randn).
enum class Family { kSilu, kNormal, kShifted };
const char* family_name(Family family);
bool family_from_name(const std::string& name, Family* family);

struct InputSpec {
  Family family = Family::kSilu;
  std::int64_t n = 1;
  int tokens = 1008;
  double beta_scale = 1.0;
  double shift = 0.0;  // shifted only
  std::uint64_t seed = 1;
};

// beta = sigmoid(randn) * beta_scale; A = sym((k * beta)^T k), B = (v * beta)^T k, alpha = 0.1 + 0.9 rand with
// alpha of matrix 0 all 1. Computed in fp64 (or fp32, see inputs.cpp), stored as fp32.
struct Batch {
  std::int64_t n = 0;
  std::vector<float> A, B, alpha;  // [n,128,128], [n,128,128], [n,128]
};

// Matrix m depends on (spec without n, m) alone, so that a longer batch starts with a shorter one, and not on `threads`
// (0: all hardware threads).
Batch make_batch(const InputSpec& spec, int threads = 0);

}  // namespace vdn_delta::support
