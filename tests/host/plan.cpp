// SPDX-License-Identifier: Apache-2.0
//
// The plan is a pure function: every GPU that matters is planned for here, from made-up facts. And the two tables:
// every row can be forced, and AUTO follows the rule of the device.
#include "host/plan.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <string>

#include "host/auto_rule.h"

namespace {

using namespace vdn_delta;
using host::auto_rule;
using host::DeviceFacts;
using host::kAutoTable;
using host::kDispatch;
using host::kRows;
using host::make_plan;
using host::Plan;
using host::Row;
using host::VariantFacts;

VariantFacts& facts_of(DeviceFacts& facts, vdn_variant_t variant) {
  int r = 0;
  while (kDispatch[r].variant != variant) ++r;
  return facts.variants[r];
}

// A device on which single occupies `ctas_per_sm`, and which holds `clusters` of pair.
DeviceFacts device(int major, int minor, int multiprocessors, int clusters, int ctas_per_sm = 1,
                   int shared_limit = 227 * 1024) {
  DeviceFacts facts;
  facts.device = 0;
  facts.capability_major = major;
  facts.capability_minor = minor;
  facts.multiprocessors = multiprocessors;
  facts.shared_bytes_limit = shared_limit;
  facts_of(facts, VDN_VARIANT_PAIR) = {448, 120000, 1, clusters};
  facts_of(facts, VDN_VARIANT_SINGLE) = {160, 70000, ctas_per_sm, 0};
  return facts;
}

const DeviceFacts kH200 = device(9, 0, 132, 66);

bool says(const Plan& plan, const std::string& words) { return std::string(plan.why).find(words) != std::string::npos; }

TEST_CASE("the table: names and variants are distinct, both variants are held") {
  for (int r = 0; r < kRows; ++r) {
    CAPTURE(r);
    CHECK(kDispatch[r].variant != VDN_VARIANT_AUTO);
    CHECK(kDispatch[r].cluster == (kDispatch[r].variant == VDN_VARIANT_PAIR ? 2 : 1));
    CHECK(host::is_held(kDispatch[r]));
    CHECK((kDispatch[r].launch != nullptr));
    for (int s = 0; s < r; ++s) {
      CHECK(std::string(kDispatch[r].name) != kDispatch[s].name);
      CHECK(kDispatch[r].variant != kDispatch[s].variant);
    }
  }
}

TEST_CASE("the table of AUTO: no entry is hidden by one before it, each says how it is known, the last fits all") {
  const int entries = sizeof kAutoTable / sizeof kAutoTable[0];
  for (int e = 0; e < entries; ++e) {
    CAPTURE(e);
    const host::AutoRule& rule = kAutoTable[e];
    const std::string known_by = rule.known_by;
    CHECK((known_by == "derived" || known_by.rfind("bench/records/", 0) == 0));
    for (const double us : {rule.pair_first, rule.pair_next, rule.single_first, rule.single_next}) CHECK(us > 0);
    // The device that it was written for finds it.
    const int capability = rule.capability == 0 ? 999 : rule.capability;
    const int multiprocessors = rule.multiprocessors == 0 ? 7 : rule.multiprocessors;
    CHECK(&auto_rule(capability, multiprocessors) == &rule);
    CHECK((rule.capability == 0) == (e == entries - 1));
  }
  CHECK(kAutoTable[entries - 1].multiprocessors == 0);
  CHECK(std::string(auto_rule(90, 132).known_by) != "derived");
  for (const int capability : {90, 100, 103, 110, 120})
    CHECK(std::string(auto_rule(capability, 148).known_by) == "derived");
}

TEST_CASE("the rule: waves of both variants, their times, and 3 % to gain") {
  const host::AutoRule rule = {90, 0, 20, 20, 40, 30, ""};  // clusters of 10, CTAs of 20: waves end together
  const auto takes_pair = [&](std::int64_t n) { return host::prefers_pair(rule, n, 10, 20); };
  CHECK(takes_pair(1));
  CHECK(takes_pair(10));        // 20 against 40
  CHECK_FALSE(takes_pair(11));  // 40 against 40
  CHECK_FALSE(takes_pair(20));
  CHECK(takes_pair(21));  // 60 against 70
  CHECK(takes_pair(30));
  CHECK_FALSE(takes_pair(31));  // 80 against 70
  CHECK_FALSE(takes_pair(41));  // 100 against 100
  const host::AutoRule close = {90, 0, 20, 20, 20.5, 20, ""};
  CHECK_FALSE(host::prefers_pair(close, 1, 10, 20));  // 2.4 % are not enough
  CHECK_FALSE(host::prefers_pair(rule, 1, 0, 20));
  CHECK(host::prefers_pair(rule, 1, 10, 0));
  CHECK_FALSE(host::prefers_pair(rule, VDN_DELTA_MAX_N, 1, INT_MAX));
}

TEST_CASE("every row can be forced, whatever n is; a row that is not held is refused") {
  for (const std::int64_t n : {std::int64_t{1}, std::int64_t{5}, std::int64_t{66}, std::int64_t{67}, VDN_DELTA_MAX_N}) {
    CAPTURE(n);
    for (int r = 0; r < kRows; ++r) {
      CAPTURE(kDispatch[r].name);
      const Plan plan = make_plan(kH200, n, kDispatch[r].variant);
      CHECK(plan.status == VDN_STATUS_SUCCESS);
      CHECK(plan.row == &kDispatch[r]);
      CHECK(plan.grid == std::min<std::int64_t>(n * kDispatch[r].cluster, 132));

      Row rows[kRows];
      std::memcpy(rows, kDispatch, sizeof rows);
      rows[r].prepare = nullptr;
      rows[r].launch = nullptr;
      const Plan refused = make_plan(kH200, n, rows[r].variant, rows);
      CHECK(refused.status == VDN_STATUS_UNSUPPORTED);
      CHECK(refused.row == nullptr);
      CHECK(says(refused, rows[r].name));
      // AUTO takes the other one, preferred or not.
      const Plan other = make_plan(kH200, n, VDN_VARIANT_AUTO, rows);
      CHECK(other.status == VDN_STATUS_SUCCESS);
      CHECK(other.row == &rows[1 - r]);
    }
  }
}

TEST_CASE("AUTO: pair for one wave of clusters, and where three of them meet two waves of single") {
  const struct {
    const char* name;
    DeviceFacts facts;
    int clusters;
  } cases[] = {
      {"H200", device(9, 0, 132, 66), 66},
      {"H200, clusters at odds with SMs", device(9, 0, 132, 60), 60},
      {"H100 PCIe", device(9, 0, 114, 57), 57},
      {"H200, MIG 1g", device(9, 0, 16, 8), 8},
      {"H200, MIG, one cluster", device(9, 0, 3, 1), 1},
      {"H200, MIG, no cluster", device(9, 0, 1, 0), 0},
      {"B200", device(10, 0, 148, 74), 74},
      {"B200, MIG 1g", device(10, 0, 18, 9), 9},
      {"B300", device(10, 3, 160, 80), 80},
      {"later", device(11, 0, 20, 10), 10},
      {"much later", device(99, 9, 100000, 50000), 50000},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    const std::int64_t edge = c.clusters;
    const std::int64_t sms = c.facts.multiprocessors;
    for (const std::int64_t n : {std::int64_t{0}, std::int64_t{1}, edge - 1, edge, edge + 1, 2 * edge, sms, sms + 1,
                                 3 * edge, 3 * edge + 1, 5 * edge, 8 * sms, VDN_DELTA_MAX_N}) {
      if (n < 0) continue;
      CAPTURE(n);
      const Plan plan = make_plan(c.facts, n, VDN_VARIANT_AUTO);
      REQUIRE(plan.status == VDN_STATUS_SUCCESS);
      const bool is_pair = edge > 0 && (n <= edge || (n > sms && n <= 3 * edge));
      CHECK(plan.row->variant == (is_pair ? VDN_VARIANT_PAIR : VDN_VARIANT_SINGLE));
      CHECK(plan.grid == (is_pair ? 2 * std::min(n, edge) : std::min(n, sms)));
      CHECK(std::string(plan.why).empty());
      // It is the plan of that variant, forced.
      const Plan forced = make_plan(c.facts, n, plan.row->variant);
      CHECK(forced.row == plan.row);
      CHECK(forced.grid == plan.grid);
    }
  }
  for (int n = 1; n <= 1000; ++n) {
    CAPTURE(n);
    const bool is_pair = n <= 66 || (n >= 133 && n <= 198);
    CHECK(make_plan(kH200, n, VDN_VARIANT_AUTO).row->variant == (is_pair ? VDN_VARIANT_PAIR : VDN_VARIANT_SINGLE));
  }
}

TEST_CASE("no cluster fits: pair is refused with the reason, AUTO and single go on") {
  const DeviceFacts facts = device(9, 0, 7, 0);
  for (const std::int64_t n : {std::int64_t{1}, VDN_DELTA_MAX_N}) {
    const Plan pair = make_plan(facts, n, VDN_VARIANT_PAIR);
    CHECK(pair.status == VDN_STATUS_UNSUPPORTED);
    CHECK(pair.row == nullptr);
    CHECK(pair.grid == 0);
    CHECK(says(pair, "cluster of 2"));
    CHECK(says(pair, "variant pair"));
    CHECK(says(pair, "7 multiprocessors"));
    for (const vdn_variant_t variant : {VDN_VARIANT_AUTO, VDN_VARIANT_SINGLE}) {
      const Plan plan = make_plan(facts, n, variant);
      CHECK(plan.status == VDN_STATUS_SUCCESS);
      CHECK(plan.row->variant == VDN_VARIANT_SINGLE);
    }
  }
}

TEST_CASE("where single cannot run, AUTO takes pair for every n") {
  DeviceFacts facts = device(11, 0, 20, 10);
  facts_of(facts, VDN_VARIANT_SINGLE) = {};
  for (const std::int64_t n : {std::int64_t{1}, std::int64_t{10}, std::int64_t{11}, VDN_DELTA_MAX_N}) {
    const Plan plan = make_plan(facts, n, VDN_VARIANT_AUTO);
    CHECK(plan.status == VDN_STATUS_SUCCESS);
    CHECK(plan.row->variant == VDN_VARIANT_PAIR);
    CHECK(plan.grid == 2 * std::min<std::int64_t>(n, 10));
    CHECK(make_plan(facts, n, VDN_VARIANT_SINGLE).status == VDN_STATUS_UNSUPPORTED);
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
    for (const vdn_variant_t variant : {VDN_VARIANT_AUTO, VDN_VARIANT_SINGLE, VDN_VARIANT_PAIR}) {
      const Plan plan = make_plan(device(c.major, c.minor, 100, 50, 2), 1000, variant);
      CHECK(plan.status == c.status);
      CHECK((plan.row != nullptr) == (c.status == VDN_STATUS_SUCCESS));
      if (c.status == VDN_STATUS_SUCCESS) {
        CHECK(plan.row->variant == (variant == VDN_VARIANT_PAIR ? VDN_VARIANT_PAIR : VDN_VARIANT_SINGLE));
        CHECK(plan.grid == (variant == VDN_VARIANT_PAIR ? 100 : 200));
        CHECK(std::string(plan.why).empty());
      } else {
        // The message names the device's capability and the one that is needed.
        CHECK(says(plan, std::to_string(c.major) + "." + std::to_string(c.minor)));
        CHECK(says(plan, "9.0"));
      }
    }
  }
}

TEST_CASE("a device whose shared memory is too small is told so, with both figures") {
  DeviceFacts facts = device(12, 0, 170, 0, 0, 99 * 1024);
  for (VariantFacts& kernel : facts.variants) kernel = {160, 110 * 1024, 0, 0};
  for (const vdn_variant_t variant : {VDN_VARIANT_AUTO, VDN_VARIANT_SINGLE, VDN_VARIANT_PAIR}) {
    const Plan plan = make_plan(facts, 1, variant);
    CHECK(plan.status == VDN_STATUS_UNSUPPORTED);
    CHECK(says(plan, "12.0"));
    CHECK(says(plan, "101376"));
    CHECK(says(plan, "112640"));
  }
}

TEST_CASE("a device for which there is no code is told so") {
  DeviceFacts facts = device(13, 0, 170, 0);
  for (VariantFacts& kernel : facts.variants) kernel = {};
  for (const vdn_variant_t variant : {VDN_VARIANT_AUTO, VDN_VARIANT_SINGLE, VDN_VARIANT_PAIR}) {
    const Plan plan = make_plan(facts, 1, variant);
    CHECK(plan.status == VDN_STATUS_UNSUPPORTED);
    CHECK(says(plan, "does not run"));
    CHECK(says(plan, "13.0"));
  }
}

TEST_CASE("every reason fits its buffer") {
  DeviceFacts facts = device(9, 0, INT_MAX, 0, 1, INT_MAX);
  facts.device = INT_MIN;
  const Plan plan = make_plan(facts, 1, VDN_VARIANT_PAIR);
  CHECK(std::string(plan.why).size() + 1 < sizeof plan.why);
  CHECK(says(plan, "needs"));
}

TEST_CASE("grid of single: min(n, what the device holds at once)") {
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
    const DeviceFacts facts = device(9, 0, c.multiprocessors, c.multiprocessors / 2, c.ctas_per_sm);
    const Plan plan = make_plan(facts, c.n, VDN_VARIANT_SINGLE);
    CHECK(plan.status == VDN_STATUS_SUCCESS);
    CHECK(plan.grid == c.grid);
    CHECK(plan.kernel.threads == 160);
    CHECK(plan.kernel.shared_bytes == 70000);
    CHECK(plan.kernel.ctas_per_sm == c.ctas_per_sm);
  }
}

TEST_CASE("grid of pair: min(n, resident clusters) clusters of two, by the occupancy query and not by the SMs") {
  const struct {
    int multiprocessors, clusters;
    std::int64_t n;
    int grid;
  } cases[] = {
      {132, 66, 0, 0},
      {132, 66, 1, 2},
      {132, 66, 66, 132},
      {132, 66, 67, 132},
      {132, 66, VDN_DELTA_MAX_N, 132},
      {132, 60, 132, 120},
      {148, 74, 1, 2},
      {148, 74, 74, 148},
      {148, 74, 707, 148},
      {133, 66, 707, 132},
      {7, 1, 707, 2},
      {132, 132, 707, 264},
      // No device is like these, but nothing may overflow.
      {INT_MAX, INT_MAX, VDN_DELTA_MAX_N, INT_MAX - 1},
      {INT_MAX, 1 << 29, VDN_DELTA_MAX_N, 1 << 30},
  };
  for (const auto& c : cases) {
    CAPTURE(c.multiprocessors);
    CAPTURE(c.clusters);
    CAPTURE(c.n);
    const Plan plan = make_plan(device(10, 0, c.multiprocessors, c.clusters), c.n, VDN_VARIANT_PAIR);
    CHECK(plan.status == VDN_STATUS_SUCCESS);
    CHECK(plan.grid == c.grid);
    CHECK(plan.kernel.threads == 448);
    CHECK(plan.kernel.clusters == c.clusters);
  }
  // AUTO on the largest thinkable device.
  CHECK(make_plan(device(10, 0, INT_MAX, INT_MAX), VDN_DELTA_MAX_N, VDN_VARIANT_AUTO).grid == INT_MAX - 1);
  CHECK(make_plan(device(10, 0, INT_MAX, 1), VDN_DELTA_MAX_N, VDN_VARIANT_AUTO).grid == VDN_DELTA_MAX_N);
}

TEST_CASE("the same facts give the same plan") {
  const Plan a = make_plan(kH200, 707, VDN_VARIANT_AUTO);
  const Plan b = make_plan(kH200, 707, VDN_VARIANT_AUTO);
  CHECK(a.row == b.row);
  CHECK(a.grid == b.grid);
}

}  // namespace
