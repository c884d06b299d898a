// SPDX-License-Identifier: Apache-2.0
//
// The table of VDN_VARIANT_AUTO (src/host/auto_rule.h) from measurements: where single takes over from pair.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "record.h"

namespace vdn_delta::bench {

// Small ones, and those around the waves of both variants: `clusters` of pair and `multiprocessors` CTAs of single.
std::vector<std::int64_t> tune_sizes(int multiprocessors, int clusters);

struct Tuning {
  struct Size {
    std::int64_t n;
    double pair_us, single_us;
    bool is_pair_faster() const { return pair_us < single_us; }
  };
  std::vector<Size> sizes;         // ascending
  std::int64_t pair_to = 0;        // pair is faster at every measured size up to here
  std::int64_t single_from = 0;    // the first measured size where it is not; 0: there is none
  int pair_waves = 0;              // whole waves of clusters in pair_to
  std::vector<std::int64_t> also;  // sizes beyond single_from at which pair is faster again
};

// From the rows in mode graph of pair and single at the same n. Throws std::runtime_error where the record has none, or
// does not say for which device it is.
Tuning tuning_of(const Record& record);

// The comparison, and the entry to add. `file`: of the record; may be empty.
void print_tuning(const Record& record, const std::string& file);

}  // namespace vdn_delta::bench
