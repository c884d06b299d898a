// SPDX-License-Identifier: Apache-2.0
//
// Which variant a call uses and how it is launched.
#include "plan.h"

#include <algorithm>
#include <cstdio>
#include <limits>

#include "auto_rule.h"

namespace vdn_delta::host {
namespace {

// Whether the kernel has said that it runs there. A cluster may find no place where its CTAs would: its SMs must be
// neighbours, and a MIG slice or a green context may have none.
bool can_run(const Row& row, const VariantFacts& kernel, const DeviceFacts& facts) {
  return may_run(row, facts) && kernel.ctas_per_sm > 0 && (row.cluster == 1 || kernel.clusters > 0);
}

// How many matrices the kernel works on at once.
std::int64_t units_of(const Row& row, const VariantFacts& kernel, const DeviceFacts& facts) {
  return row.cluster == 1 ? std::int64_t{facts.multiprocessors} * kernel.ctas_per_sm : std::int64_t{kernel.clusters};
}

int auto_variant_of(const Row& row) {
  switch (row.variant) {
    case VDN_VARIANT_PAIR: return kAutoPair;
    case VDN_VARIANT_COMPACT: return kAutoCompact;
    default: return kAutoSingle;
  }
}

// The row that AUTO takes, or null if none can run.
const Row* fastest_row(const DeviceFacts& facts, std::int64_t n, const Row* rows) {
  Units units;
  for (int r = 0; r < kRows; ++r)
    if (can_run(rows[r], facts.variants[r], facts))
      units.of[auto_variant_of(rows[r])] = units_of(rows[r], facts.variants[r], facts);
  const int variant = fastest(auto_rule(capability_of(facts), facts.multiprocessors), n, units);
  for (int r = 0; r < kRows; ++r)
    if (variant == auto_variant_of(rows[r])) return &rows[r];
  return nullptr;
}

// The kernels are persistent: as many CTAs as the device holds at once, or fewer if there is less to do, whole clusters
// always. 64-bit, as n alone may be 2^30.
int grid_of(const Row& row, const VariantFacts& kernel, const DeviceFacts& facts, std::int64_t n) {
  const std::int64_t resident = std::max<std::int64_t>(units_of(row, kernel, facts), 1);
  const std::int64_t most = std::numeric_limits<int>::max() / row.cluster;
  return static_cast<int>(std::min({n, resident, most}) * row.cluster);
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
  } else if (kernel.ctas_per_sm > 0) {
    std::snprintf(
        plan->why, sizeof plan->why,
        "device %d (compute capability %d.%d, %d multiprocessors) has no room for a cluster of %d CTAs, which "
        "variant %s needs",
        facts.device, major, minor, facts.multiprocessors, row.cluster, row.name);
  } else {
    std::snprintf(plan->why, sizeof plan->why,
                  "the code of variant %s in this library does not run on device %d (compute capability %d.%d)",
                  row.name, facts.device, major, minor);
  }
}

}  // namespace

Plan make_plan(const DeviceFacts& facts, std::int64_t n, vdn_variant_t variant, const Row* rows) noexcept {
  Plan plan;
  const bool automatic = variant == VDN_VARIANT_AUTO;
  const Row* refused = nullptr;  // the row to explain: the forced one, or the last that AUTO could have taken
  for (int r = 0; r < kRows; ++r) {
    const Row& row = rows[r];
    if (automatic ? !is_held(row) : variant != row.variant) continue;
    refused = &row;
    if (!automatic && can_run(row, facts.variants[r], facts)) plan.row = &row;
  }
  if (automatic) plan.row = fastest_row(facts, n, rows);
  if (plan.row != nullptr) {
    plan.kernel = facts.variants[plan.row - rows];
    plan.grid = grid_of(*plan.row, plan.kernel, facts, n);
  } else {
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
