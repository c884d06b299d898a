// SPDX-License-Identifier: Apache-2.0
//
// One call's arguments, in one arena of host memory: A, B, alpha, T, J and info lie back to back, each 4-byte aligned,
// outputs poisoned. Tests move the pointers and look at what the library answers. Nothing here is on a GPU: every use
// with vdn_delta_factors must be one that is refused, or has n = 0.
#pragma once

#include <vdn_delta/vdn_delta.h>

#include <cstdint>
#include <cstring>
#include <vector>

namespace vdn_delta::tests {

inline constexpr std::int64_t kMatrix = std::int64_t{VDN_DELTA_DIM} * VDN_DELTA_DIM;
inline constexpr std::uint32_t kPoison = 0x7fc0dead;  // a NaN that no computation gives

class Call {
 public:
  explicit Call(std::int64_t matrices = 2) : n(matrices), words_(n * (4 * kMatrix + VDN_DELTA_DIM + 1)) {
    std::memset(words_.data(), 0, words_.size() * sizeof(float));
    float* next = words_.data();
    const auto take = [&](std::int64_t count) {
      float* taken = next;
      next += count;
      return taken;
    };
    float* a = take(n * kMatrix);
    float* b = take(n * kMatrix);
    float* scale = take(n * VDN_DELTA_DIM);
    T = take(n * kMatrix);
    J = take(n * kMatrix);
    info_words_ = reinterpret_cast<std::int32_t*>(take(n));
    A = a;
    B = b;
    alpha = scale;
    // A = I, B = I, alpha = 1: T = J = I / 2.
    for (std::int64_t m = 0; m < n; ++m) {
      for (int i = 0; i < VDN_DELTA_DIM; ++i) {
        a[m * kMatrix + i * (VDN_DELTA_DIM + 1)] = 1.0f;
        b[m * kMatrix + i * (VDN_DELTA_DIM + 1)] = 1.0f;
        scale[m * VDN_DELTA_DIM + i] = 1.0f;
      }
    }
    for (float* word = T; word != next; ++word) std::memcpy(word, &kPoison, sizeof kPoison);
    before_ = words_;
  }

  std::int32_t* info_words() { return info_words_; }

  vdn_status_t gpu() { return vdn_delta_factors(n, A, B, alpha, T, J, options_or_null(), nullptr); }
  vdn_status_t host(int threads = 1) {
    return vdn_delta_factors_host(n, A, B, alpha, T, J, options_or_null(), threads);
  }

  // No word of the arena has changed. By bytes: NaN differs from itself.
  bool untouched() const { return std::memcmp(words_.data(), before_.data(), words_.size() * sizeof(float)) == 0; }

  std::int64_t n;
  const float* A;
  const float* B;
  const float* alpha;
  float* T;
  float* J;
  vdn_delta_options_t options = VDN_DELTA_OPTIONS_INIT;
  bool null_options = false;

 private:
  const vdn_delta_options_t* options_or_null() const { return null_options ? nullptr : &options; }

  std::vector<float> words_;
  std::vector<float> before_;
  std::int32_t* info_words_;
};

}  // namespace vdn_delta::tests
