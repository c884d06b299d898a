// SPDX-License-Identifier: Apache-2.0
//
// Which variant a call uses and how it is launched.
#include "plan.h"

#include <algorithm>
#include <cstdio>

namespace vdn_delta::host {
namespace {

// The kernels are persistent: as many CTAs as the device holds at once, or fewer if there is less to do, whole clusters
// always. 64-bit, as n alone may be 2^30.
int grid_of(const Row& row, const VariantFacts& kernel, const DeviceFacts& facts, std::int64_t n) {
  const std::int64_t resident = std::int64_t{facts.multiprocessors} * kernel.ctas_per_sm / row.cluster;
  return static_cast<int>(std::min(n, std::max<std::int64_t>(resident, 1)) * row.cluster);
}

void explain(const Row& row, const VariantFacts& kernel, const DeviceFacts& facts, Plan* plan) {
  const int major = facts.capability_major;
  const int minor = facts.capability_minor;
  if (!is_held(row)) {
    std::snprintf(plan->why, sizeof plan->why, "variant %s is not in this version of the library", row.name);
  } else if (!may_run(row, facts)) {
    std::snprintf(plan->why, sizeof plan->why,
                  "device %d has compute capability %d.%d, variant %s needs %d.%d or newer", facts.device, major, minor,
                  row.name, row.min_capability / 10, row.min_capability % 10);
  } else if (kernel.shared_bytes > facts.shared_bytes_limit) {
    std::snprintf(plan->why, sizeof plan->why,
                  "device %d (compute capability %d.%d) gives a CTA %d bytes of shared memory, variant %s needs %d",
                  facts.device, major, minor, facts.shared_bytes_limit, row.name, kernel.shared_bytes);
  } else {
    std::snprintf(plan->why, sizeof plan->why,
                  "the code of variant %s in this library does not run on device %d (compute capability %d.%d)",
                  row.name, facts.device, major, minor);
  }
}

}  // namespace

Plan make_plan(const DeviceFacts& facts, std::int64_t n, vdn_variant_t variant, const Row* rows) noexcept {
  Plan plan;
  const Row* refused = nullptr;  // the row to explain: the forced one, or the last that AUTO tried
  for (int r = 0; r < kRows && plan.row == nullptr; ++r) {
    const Row& row = rows[r];
    const bool wanted = variant == VDN_VARIANT_AUTO ? is_held(row) : variant == row.variant;
    if (!wanted) continue;
    if (may_run(row, facts) && facts.variants[r].ctas_per_sm > 0) {
      plan.row = &row;
      plan.kernel = facts.variants[r];
      plan.grid = grid_of(row, plan.kernel, facts, n);
    } else {
      refused = &row;
    }
  }
  if (plan.row == nullptr) {
    plan.status = VDN_STATUS_UNSUPPORTED;
    if (refused != nullptr) {
      explain(*refused, facts.variants[refused - rows], facts, &plan);
    } else {
      std::snprintf(plan.why, sizeof plan.why, "this library holds no variant for device %d", facts.device);
    }
  }
  return plan;
}

}  // namespace vdn_delta::host
