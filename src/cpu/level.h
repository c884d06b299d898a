// SPDX-License-Identifier: Apache-2.0
//
// One matrix on one thread, at one instruction-set level.
//
// solve.cpp is compiled once per level, each time into a namespace of its own (VDN_CPU_LEVEL) and with Eigen's
// namespace renamed, so that the linker can never replace an inline function of one level by another level's. For the
// same reason this header and the level objects keep to declarations and plain data: nothing of the standard library
// that could be emitted out of line.
#pragma once

#include <cstddef>
#include <cstdint>

namespace vdn_delta::cpu {

inline constexpr int kDim = 128;

// Row pitch of the scratch matrices, in floats. With 128 the rows of a column panel fall into 8 of the 64 sets of an L1
// cache and evict each other; 128 + 16 walks through all sets and keeps 64-byte alignment.
inline constexpr int kPitch = kDim + 16;
inline constexpr std::size_t kScratchFloats = std::size_t{3} * kDim * kPitch;
inline constexpr std::size_t kScratchAlign = 64;

struct Problem {
  const float* A;      // [128, 128], lower triangle
  const float* B;      // [128, 128]
  const float* alpha;  // [128]
  float* T;            // [128, 128]
  float* J;            // [128, 128]
  float a_scale;
  float b_scale;
};

// Returns 0, or the order (1..128) of the first bad pivot; T and J are then untouched.
// `scratch` holds kScratchFloats floats, aligned to kScratchAlign, with any content.
using SolveFunction = std::int32_t (*)(const Problem& problem, float* scratch);

namespace baseline {
std::int32_t solve(const Problem& problem, float* scratch) noexcept;
}
namespace avx2 {
std::int32_t solve(const Problem& problem, float* scratch) noexcept;
}
namespace avx512 {
std::int32_t solve(const Problem& problem, float* scratch) noexcept;
}

}  // namespace vdn_delta::cpu
