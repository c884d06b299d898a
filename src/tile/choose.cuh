// SPDX-License-Identifier: Apache-2.0
//
// A number that is known at run time, as one that is known at compile time: registers cannot be indexed by the former.
#pragma once

#include "arch/target.cuh"

namespace vdn_delta::tile {

// i as a type: where one is called for, it converts to i.
template <int i>
struct Number {
  VDN_DEVICE constexpr operator int() const { return i; }
};

// Calls f(Number<i>()) for i in first .. first + count - 1, by a tree of branches: that takes less time than a
// table of addresses, which a switch becomes (docs/performance.md, v15).
template <int first, int count, class F>
VDN_DEVICE void choose(int i, F f) {
  if constexpr (count == 1) {
    f(Number<first>{});
  } else {
    constexpr int half = count / 2;
    if (i < first + half)
      choose<first, half>(i, f);
    else
      choose<first + half, count - half>(i, f);
  }
}

}  // namespace vdn_delta::tile
