// SPDX-License-Identifier: Apache-2.0
//
// The table of VDN_VARIANT_AUTO (src/host/auto_rule.h) from measurements: the times of a wave of either variant.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "../src/host/auto_rule.h"
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
  std::vector<Size> sizes;  // ascending
  host::AutoRule rule{};    // without its `known_by`
};

// From the rows in mode graph of pair and single: at one and at three full waves of clusters, at one and at two full
// waves of single. Throws std::runtime_error where the record lacks one of them, or does not say for which device it
// is.
Tuning tuning_of(const Record& record);

// The comparison, and the entry to add. `file`: of the record; may be empty.
void print_tuning(const Record& record, const std::string& file);

}  // namespace vdn_delta::bench
