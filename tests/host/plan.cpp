// SPDX-License-Identifier: Apache-2.0
//
// The plan is a pure function: every GPU that matters is planned for here, from made-up facts. And the dispatch table:
// every row can be forced.
#include "host/plan.h"

#include <doctest/doctest.h>

#include <cstring>
#include <string>

namespace {

using namespace vdn_delta;
using host::DeviceFacts;
using host::kDispatch;
using host::kRows;
using host::make_plan;
using host::Plan;
using host::Row;
using host::VariantFacts;

// A device on which every variant occupies `ctas_per_sm`.
DeviceFacts device(int major, int minor, int multiprocessors, int ctas_per_sm, int shared_limit = 227 * 1024) {
  DeviceFacts facts;
  facts.device = 0;
  facts.capability_major = major;
  facts.capability_minor = minor;
  facts.multiprocessors = multiprocessors;
  facts.shared_bytes_limit = shared_limit;
  for (VariantFacts& kernel : facts.variants) kernel = {160, 70000, ctas_per_sm};
  return facts;
}

int never_called(VariantFacts*) { return -1; }

// The dispatch table as it will be when the pair variant exists.
struct FullTable {
  Row rows[kRows];
  FullTable() {
    std::memcpy(rows, kDispatch, sizeof rows);
    for (Row& row : rows) row.prepare = never_called;
  }
};

TEST_CASE("the table: names and variants are distinct, the single variant is held, the pair is not yet") {
  for (int r = 0; r < kRows; ++r) {
    CAPTURE(r);
    CHECK(kDispatch[r].variant != VDN_VARIANT_AUTO);
    CHECK(kDispatch[r].cluster >= 1);
    CHECK(host::is_held(kDispatch[r]) == (kDispatch[r].launch != nullptr));
    for (int s = 0; s < r; ++s) {
      CHECK(std::string(kDispatch[r].name) != kDispatch[s].name);
      CHECK(kDispatch[r].variant != kDispatch[s].variant);
    }
    if (kDispatch[r].variant == VDN_VARIANT_SINGLE) CHECK(is_held(kDispatch[r]));
    if (kDispatch[r].variant == VDN_VARIANT_PAIR) CHECK_FALSE(is_held(kDispatch[r]));
  }
}

TEST_CASE("every row can be forced, and AUTO takes the first that is held") {
  const FullTable full;
  const DeviceFacts facts = device(9, 0, 132, 3);
  for (const Row* rows : {static_cast<const Row*>(kDispatch), static_cast<const Row*>(full.rows)}) {
    const Row* first = nullptr;
    for (int r = 0; r < kRows; ++r) {
      CAPTURE(rows[r].name);
      const Plan plan = make_plan(facts, 5, rows[r].variant, rows);
      if (!is_held(rows[r])) {
        CHECK(plan.status == VDN_STATUS_UNSUPPORTED);
        CHECK(plan.row == nullptr);
        CHECK(std::string(plan.why).find(rows[r].name) != std::string::npos);
        continue;
      }
      if (first == nullptr) first = &rows[r];
      CHECK(plan.status == VDN_STATUS_SUCCESS);
      CHECK(plan.row == &rows[r]);
      CHECK(plan.grid == 5 * rows[r].cluster);
    }
    CHECK(make_plan(facts, 5, VDN_VARIANT_AUTO, rows).row == first);
  }
}

TEST_CASE("capabilities") {
  const struct {
    int major, minor;
    vdn_status_t status;
  } cases[] = {
      {7, 0, VDN_STATUS_UNSUPPORTED}, {8, 0, VDN_STATUS_UNSUPPORTED}, {8, 9, VDN_STATUS_UNSUPPORTED},
      {9, 0, VDN_STATUS_SUCCESS},     {10, 0, VDN_STATUS_SUCCESS},    {10, 3, VDN_STATUS_SUCCESS},
      {11, 0, VDN_STATUS_SUCCESS},    {12, 0, VDN_STATUS_SUCCESS},    {12, 1, VDN_STATUS_SUCCESS},
  };
  for (const auto& c : cases) {
    CAPTURE(c.major);
    CAPTURE(c.minor);
    for (const vdn_variant_t variant : {VDN_VARIANT_AUTO, VDN_VARIANT_SINGLE}) {
      const Plan plan = make_plan(device(c.major, c.minor, 100, 2), 1000, variant);
      CHECK(plan.status == c.status);
      CHECK((plan.row != nullptr) == (c.status == VDN_STATUS_SUCCESS));
      if (c.status == VDN_STATUS_SUCCESS) {
        CHECK(plan.row->variant == VDN_VARIANT_SINGLE);
        CHECK(plan.grid == 200);
        CHECK(std::string(plan.why).empty());
      } else {
        // The message names the device's capability and the one that is needed.
        CHECK(std::string(plan.why).find(std::to_string(c.major) + "." + std::to_string(c.minor)) != std::string::npos);
        CHECK(std::string(plan.why).find("9.0") != std::string::npos);
      }
    }
  }
}

TEST_CASE("a device whose shared memory is too small is told so, with both figures") {
  DeviceFacts facts = device(12, 0, 170, 0, 99 * 1024);
  for (VariantFacts& kernel : facts.variants) kernel.shared_bytes = 110 * 1024;
  const Plan plan = make_plan(facts, 1, VDN_VARIANT_AUTO);
  CHECK(plan.status == VDN_STATUS_UNSUPPORTED);
  CHECK(std::string(plan.why).find("12.0") != std::string::npos);
  CHECK(std::string(plan.why).find("101376") != std::string::npos);
  CHECK(std::string(plan.why).find("112640") != std::string::npos);
}

TEST_CASE("a device for which there is no code is told so") {
  DeviceFacts facts = device(13, 0, 170, 0);
  for (VariantFacts& kernel : facts.variants) kernel = {};
  const Plan plan = make_plan(facts, 1, VDN_VARIANT_AUTO);
  CHECK(plan.status == VDN_STATUS_UNSUPPORTED);
  CHECK(std::string(plan.why).find("does not run") != std::string::npos);
  CHECK(std::string(plan.why).find("13.0") != std::string::npos);
}

TEST_CASE("grid: min(n, what the device holds at once)") {
  const struct {
    int multiprocessors, ctas_per_sm;
    std::int64_t n;
    int grid;
  } cases[] = {
      {132, 1, 0, 0},     {132, 1, 1, 1},     {132, 1, 132, 132},
      {132, 1, 133, 132}, {132, 3, 133, 133}, {132, 3, 396, 396},
      {132, 3, 397, 396}, {132, 3, 707, 396}, {132, 3, VDN_DELTA_MAX_N, 396},
      {148, 4, 707, 592}, {1, 1, 707, 1},     {100000, 32, VDN_DELTA_MAX_N, 3200000},
  };
  for (const auto& c : cases) {
    CAPTURE(c.multiprocessors);
    CAPTURE(c.ctas_per_sm);
    CAPTURE(c.n);
    const Plan plan = make_plan(device(9, 0, c.multiprocessors, c.ctas_per_sm), c.n, VDN_VARIANT_AUTO);
    CHECK(plan.status == VDN_STATUS_SUCCESS);
    CHECK(plan.grid == c.grid);
    CHECK(plan.kernel.threads == 160);
    CHECK(plan.kernel.shared_bytes == 70000);
    CHECK(plan.kernel.ctas_per_sm == c.ctas_per_sm);
  }
}

TEST_CASE("grid of clusters: whole clusters, one per matrix at most") {
  const FullTable full;
  const auto grid = [&](int multiprocessors, int ctas_per_sm, std::int64_t n) {
    return make_plan(device(10, 0, multiprocessors, ctas_per_sm), n, VDN_VARIANT_PAIR, full.rows).grid;
  };
  CHECK(grid(148, 1, 1) == 2);
  CHECK(grid(148, 1, 74) == 148);
  CHECK(grid(148, 1, 707) == 148);
  CHECK(grid(133, 1, 707) == 132);
  CHECK(grid(1, 1, 707) == 2);
  CHECK(grid(132, 2, VDN_DELTA_MAX_N) == 264);
}

TEST_CASE("the same facts give the same plan") {
  const DeviceFacts facts = device(9, 0, 132, 3);
  const Plan a = make_plan(facts, 707, VDN_VARIANT_AUTO);
  const Plan b = make_plan(facts, 707, VDN_VARIANT_AUTO);
  CHECK(a.row == b.row);
  CHECK(a.grid == b.grid);
}

}  // namespace
