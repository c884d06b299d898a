// SPDX-License-Identifier: Apache-2.0
//
// A number that is known at run time, as one that is known at compile time: registers cannot be indexed by the former.
#pragma once

#include <type_traits>

#include "arch/target.cuh"

namespace vdn_delta::tile {

// Calls f(std::integral_constant<int, i>) for i in first .. first + count - 1, by a tree of branches: that takes less
// time than a table of addresses, which a switch becomes (docs/performance.md, v15).
template <int first, int count, class F>
VDN_DEVICE void choose(int i, F f) {
  if constexpr (count == 1) {
    f(std::integral_constant<int, first>{});
  } else {
    constexpr int half = count / 2;
    if (i < first + half)
      choose<first, half>(i, f);
    else
      choose<first + half, count - half>(i, f);
  }
}

}  // namespace vdn_delta::tile
