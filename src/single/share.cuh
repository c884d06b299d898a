// SPDX-License-Identifier: Apache-2.0
//
// Which matrices a CTA of the single-CTA kernel does, and where they are. Full waves go round the CTAs; a last wave
// that fills at most half of them is shared by pairs (docs/decisions/0012).
#pragma once

#include <cstdint>

#include "arch/target.cuh"
#include "params.h"
#include "shape.h"

namespace vdn_delta::single {

VDN_DEVICE std::int64_t matrix_offset(int m) { return static_cast<std::int64_t>(m) * kElements; }

// The matrices of this CTA are count = 0, 1, ..., of which each team has every second one.
//
// A last wave that fills at most half of the CTAs is shared: two CTAs do each of its matrices, `left` apart, both the
// whole sweep, and each half of B's rows. The first of the two stores T and info. A grid with more CTAs than matrices
// has no full wave, and shares nothing.
struct Share {
  int waves, left;  // full waves of matrices, and how many are left for the last one
  bool halves;      // whether that is shared
  VDN_DEVICE explicit Share(const Params& params) {
    const unsigned n = static_cast<unsigned>(params.n), ctas = static_cast<unsigned>(arch::block_count());  // n <= 2^30
    const unsigned full = n / ctas;
    waves = static_cast<int>(full);
    left = static_cast<int>(n - full * ctas);
    halves = waves > 0 && 2 * left <= arch::block_count();
  }
  VDN_DEVICE int total() const { return waves + (arch::block_index() < (halves ? 2 * left : left) ? 1 : 0); }
  VDN_DEVICE bool shared(int count) const { return halves && count == waves; }
  VDN_DEVICE bool second(int count) const { return shared(count) && arch::block_index() >= left; }
};
VDN_DEVICE int matrix_of(const Share& share, int count) {
  return arch::block_index() + count * arch::block_count() - (share.second(count) ? share.left : 0);
}

}  // namespace vdn_delta::single
