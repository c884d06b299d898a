// SPDX-License-Identifier: Apache-2.0
//
// Which variant a call uses and how it is launched: a pure function of the device's facts, n and the options. It knows
// no CUDA, so that every GPU, also one that is not at hand, can be planned for in a test.
#pragma once

#include <cstdint>

#include "dispatch.h"

namespace vdn_delta::host {

struct DeviceFacts {
  int device = -1;
  int capability_major = 0;
  int capability_minor = 0;
  int multiprocessors = 0;
  int shared_bytes_limit = 0;    // largest dynamic shared memory of a CTA
  VariantFacts variants[kRows];  // in the order of kDispatch
};

inline int capability_of(const DeviceFacts& facts) { return 10 * facts.capability_major + facts.capability_minor; }

// Whether this build holds the variant, for devices like this one. Whether its code runs there, the kernel says.
inline bool may_run(const Row& row, const DeviceFacts& facts) {
  return is_held(row) && capability_of(facts) >= row.min_capability;
}

// `why` is set, and `row` null, if status is not VDN_STATUS_SUCCESS.
struct Plan {
  vdn_status_t status = VDN_STATUS_SUCCESS;
  const Row* row = nullptr;
  VariantFacts kernel;
  int grid = 0;  // CTAs; 0 for n = 0
  char why[200] = "";
};

// `rows` is the dispatch table, or a test's own of kRows rows. 0 <= n <= VDN_DELTA_MAX_N; `variant` is a named
// enumerator of vdn_variant_t.
Plan make_plan(const DeviceFacts& facts, std::int64_t n, vdn_variant_t variant, const Row* rows = kDispatch) noexcept;

}  // namespace vdn_delta::host
