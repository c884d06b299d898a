// SPDX-License-Identifier: Apache-2.0
//
// The table of VDN_VARIANT_AUTO (src/host/auto_rule.h) from measurements: the times of a wave of each variant.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "../src/host/auto_rule.h"
#include "record.h"

namespace vdn_delta::bench {

// Small ones, and those around the waves: of `clusters` of pair, of `multiprocessors` CTAs of single and of compact.
std::vector<std::int64_t> tune_sizes(int multiprocessors, int clusters);

struct Tuning {
  struct Size {
    std::int64_t n;
    double us[host::kAutoVariants];  // by AutoVariant
    int fastest() const;
  };
  std::vector<Size> sizes;  // ascending
  host::AutoRule rule{};    // without its `known_by`
};

// From the rows in mode graph of all variants: of pair at one and at three full waves of clusters, of single and
// compact at one and at four full waves of CTAs, one on each multiprocessor. Throws std::runtime_error where the record
// lacks one of them, or does not say for which device it is.
Tuning tuning_of(const Record& record);

// The comparison, and the entry to add. `file`: of the record; may be empty.
void print_tuning(const Record& record, const std::string& file);

}  // namespace vdn_delta::bench
