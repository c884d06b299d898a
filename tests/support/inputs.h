// SPDX-License-Identifier: Apache-2.0
//
// Seeded inputs: the model's statistics (the families of docs/numerics.md), and matrices that sit at the edges.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace vdn_delta::support {

inline constexpr int kDim = 128;
inline constexpr std::int64_t kMatrix = std::int64_t{kDim} * kDim;

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
// "silu tokens=1008 beta_scale=50 n=7 seed=1": what a failing test must print.
std::string describe(const InputSpec& spec);

// beta = sigmoid(randn) * beta_scale; A = sym((k * beta)^T k), B = (v * beta)^T k, alpha = 0.1 + 0.9 rand with
// alpha of matrix 0 all 1. Rows in fp32, products in fp32 over 64 tokens and fp64 beyond, stored as fp32.
struct Batch {
  std::int64_t n = 0;
  std::vector<float> A, B, alpha;  // [n,128,128], [n,128,128], [n,128]
};

// The batch whose matrix m is matrix order[m] of the given one; matrices [first, first + count).
Batch pick(const Batch& batch, const std::vector<std::int64_t>& order);
Batch slice(const Batch& batch, std::int64_t first, std::int64_t count);

// Matrix m depends on (spec without n, m) alone, so that a longer batch starts with a shorter one, and not on `threads`
// (0: all hardware threads).
Batch make_batch(const InputSpec& spec, int threads = 0);

// Counter-based random numbers: the value depends on (seed, stream) and on how many were drawn before, and on no
// distribution of the standard library.
class Random {
 public:
  explicit Random(std::uint64_t seed, std::uint64_t stream = 0);
  std::uint64_t bits();
  double uniform();  // in (0, 1)
  float normal();    // Box-Muller, in pairs

 private:
  std::uint64_t key_, counter_ = 0;
  float spare_ = 0;
  bool has_spare_ = false;
};

// Batches of special matrices: n times A = 0, B = I, alpha = 1, to be changed by the functions below.
Batch make_identity(std::int64_t n);
void set_diagonal(float* matrix, float value);         // value * I
void set_graded(float* A, double first, double last);  // diagonal, from first to last geometrically
void set_rank_one(float* A, double scale);             // scale v v^T, all v 1 / sqrt(128)
void set_psd(float* A, double norm, Random* random);   // random PSD of full rank, largest eigenvalue ~ norm
void set_random(float* matrix, double size, std::int64_t count, Random* random);  // count normals times size

// Makes pivot `order` (1..128) of I + A the first one that is not positive, with the pivots before it untouched:
// lowers the diagonal entry far below what the rows above it leave.
void break_pivot(float* A, int order);

}  // namespace vdn_delta::support
