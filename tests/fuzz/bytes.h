// SPDX-License-Identifier: Apache-2.0
//
// What both fuzz targets share: values out of a fuzzer's bytes, a check that ends the process, and the seeded faults by
// which a test shows that the checks can fail.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace vdn_delta::fuzz {

// Hands out the input from front to back, and zeros behind its end.
class Bytes {
 public:
  Bytes(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}
  bool empty() const { return size_ == 0; }
  template <class T>
  T take() {
    T value{};
    const std::size_t count = size_ < sizeof value ? size_ : sizeof value;
    std::memcpy(&value, data_, count);
    data_ += count;
    size_ -= count;
    return value;
  }
  unsigned below(unsigned limit) { return take<std::uint8_t>() % limit; }

 private:
  const std::uint8_t* data_;
  std::size_t size_;
};

inline void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

// The fault that the targets are to make up behind the library's back, 0 for none. tests/fuzz/meson.build asks for
// each.
inline int seeded_fault() {
  static const int fault = [] {
    const char* text = std::getenv("VDN_FUZZ_FAULT");
    return text == nullptr ? 0 : std::atoi(text);
  }();
  return fault;
}

}  // namespace vdn_delta::fuzz
