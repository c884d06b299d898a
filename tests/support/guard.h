// SPDX-License-Identifier: Apache-2.0
//
// Buffers that notice what should not have been written, and what should have been.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace vdn_delta::support {

// Every element of a fresh buffer, and of the bands before and after it, is this NaN: no arithmetic gives its payload.
inline constexpr std::uint32_t kPoison = 0x7fedbeefu;

// `count` elements of four bytes between two guard bands, `offset` elements past a 64-byte boundary.
template <class T>
class Guarded {
  static_assert(sizeof(T) == 4);

 public:
  explicit Guarded(std::int64_t count, int offset = 0)
      : count_(static_cast<std::size_t>(count)), words_(count_ + 2 * kBand + 2 * kAlign, kPoison) {
    const auto address = reinterpret_cast<std::uintptr_t>(words_.data());
    first_ = kBand + (kAlign - address / 4 % kAlign) % kAlign + static_cast<std::size_t>(offset) % kAlign;
  }
  Guarded(const std::vector<T>& values, int offset) : Guarded(static_cast<std::int64_t>(values.size()), offset) {
    if (count_ != 0) std::memcpy(data(), values.data(), count_ * 4);
  }

  T* data() { return reinterpret_cast<T*>(words_.data() + first_); }
  std::vector<T> values() { return std::vector<T>(data(), data() + count_); }

  bool guards_intact() const {
    const auto is_poison = [](std::uint32_t word) { return word == kPoison; };
    return std::all_of(words_.begin(), words_.begin() + static_cast<std::ptrdiff_t>(first_), is_poison) &&
           std::all_of(words_.begin() + static_cast<std::ptrdiff_t>(first_ + count_), words_.end(), is_poison);
  }
  bool fully_written() const {
    const auto begin = words_.begin() + static_cast<std::ptrdiff_t>(first_);
    return std::find(begin, begin + static_cast<std::ptrdiff_t>(count_), kPoison) ==
           begin + static_cast<std::ptrdiff_t>(count_);
  }
  bool untouched() const {
    return std::all_of(words_.begin(), words_.end(), [](std::uint32_t word) { return word == kPoison; });
  }
  bool holds(const std::vector<T>& values) {  // of the same length
    return count_ == 0 || std::memcmp(data(), values.data(), count_ * 4) == 0;
  }

 private:
  static constexpr std::size_t kAlign = 16, kBand = 64;
  std::size_t count_, first_ = 0;
  std::vector<std::uint32_t> words_;
};

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

}  // namespace vdn_delta::support
