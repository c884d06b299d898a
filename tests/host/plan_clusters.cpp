// SPDX-License-Identifier: Apache-2.0
//
// The occupancy answer overridden (field reports ARC-04, ARC-06): devices that hold 8, 4, 2, 1 or no cluster, whatever
// their multiprocessors would let one expect, and two devices with different answers. For every row of the table.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "host/plan.h"

namespace {

using namespace vdn_delta;
using host::DeviceFacts;
using host::kDispatch;
using host::kRows;
using host::make_plan;
using host::Plan;
using host::Row;

// An H200 that counts so many clusters of each row of clusters.
DeviceFacts device(int clusters) {
  DeviceFacts facts;
  facts.device = 0;
  facts.capability_major = 9;
  facts.multiprocessors = 132;
  facts.shared_bytes_limit = 227 * 1024;
  for (int r = 0; r < kRows; ++r) facts.variants[r] = {256, 90000, 1, kDispatch[r].cluster > 1 ? clusters : 0};
  return facts;
}

TEST_CASE("ARC-04, ARC-06: few clusters, one, or none") {
  for (const int clusters : {8, 4, 2, 1, 0}) {
    CAPTURE(clusters);
    const DeviceFacts facts = device(clusters);
    for (const std::int64_t n : {std::int64_t{1}, std::int64_t{3}, std::int64_t{300}, VDN_DELTA_MAX_N}) {
      CAPTURE(n);
      for (const Row& row : kDispatch) {
        CAPTURE(row.name);
        const Plan plan = make_plan(facts, n, row.variant);
        if (row.cluster > 1 && clusters == 0) {
          CHECK(plan.status == VDN_STATUS_UNSUPPORTED);
          CHECK(plan.row == nullptr);
          CHECK(plan.grid == 0);
          CHECK(std::string(plan.why).find("cluster") != std::string::npos);
        } else {
          CHECK(plan.status == VDN_STATUS_SUCCESS);
          CHECK(plan.row == &row);
          const std::int64_t units = row.cluster > 1 ? clusters : 132;
          CHECK(plan.grid == std::min(n, units) * row.cluster);
        }
      }
      // AUTO always finds something that runs.
      const Plan automatic = make_plan(facts, n, VDN_VARIANT_AUTO);
      CHECK(automatic.status == VDN_STATUS_SUCCESS);
      REQUIRE(automatic.row != nullptr);
      CHECK(make_plan(facts, n, automatic.row->variant).status == VDN_STATUS_SUCCESS);
      if (clusters == 0) CHECK(automatic.row->cluster == 1);
    }
  }
}

TEST_CASE("ARC-06: each device has its own answer") {
  const DeviceFacts few = device(1), many = device(66);
  for (const Row& row : kDispatch) {
    if (row.cluster == 1) continue;
    CAPTURE(row.name);
    for (int round = 0; round < 2; ++round) {  // no answer is kept from one to the other
      CHECK(make_plan(few, 500, row.variant).grid == row.cluster);
      CHECK(make_plan(many, 500, row.variant).grid == 66 * row.cluster);
    }
  }
}

}  // namespace
