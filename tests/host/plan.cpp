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

// A device on which single and compact occupy `ctas_per_sm`, and which holds `clusters` of pair.
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
  facts_of(facts, VDN_VARIANT_COMPACT) = {640, 96000, ctas_per_sm, 0};
  return facts;
}

const DeviceFacts kH200 = device(9, 0, 132, 66);

bool says(const Plan& plan, const std::string& words) { return std::string(plan.why).find(words) != std::string::npos; }

TEST_CASE("the table: names and variants are distinct, all variants are held") {
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
    for (const host::WaveTimes& times : rule.times) {
      CHECK(times.first > 0);
      CHECK(times.next > 0);
    }
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

// Single, compact, pair.
host::Units units(std::int64_t single, std::int64_t compact, std::int64_t pair) { return {{single, compact, pair}}; }

TEST_CASE("the rule: waves of each variant, their times, and 3 % to gain") {
  using host::fastest;
  using host::kAutoCompact;
  using host::kAutoPair;
  using host::kAutoSingle;
  // CTAs of 20, clusters of 10: waves end together.
  const host::AutoRule rule = {90, 0, {{40, 30}, {36, 40}, {20, 20}}, ""};
  const auto takes = [&](std::int64_t n) { return fastest(rule, n, units(20, 20, 10)); };
  CHECK(takes(0) == kAutoPair);
  CHECK(takes(1) == kAutoPair);
  CHECK(takes(10) == kAutoPair);     // 20 against 40 and 36
  CHECK(takes(11) == kAutoCompact);  // 40 against 40 and 36
  CHECK(takes(20) == kAutoCompact);
  CHECK(takes(21) == kAutoPair);  // 60 against 70 and 76
  CHECK(takes(30) == kAutoPair);
  CHECK(takes(31) == kAutoSingle);  // 80 against 70 and 76
  CHECK(takes(41) == kAutoSingle);  // 100 against 100 and 116
  // 2.4 % are not enough, whichever is the plainer one.
  CHECK(fastest({90, 0, {{20.5, 20}, {20, 20}, {20, 20}}, ""}, 1, units(20, 20, 10)) == kAutoSingle);
  CHECK(fastest({90, 0, {{30, 20}, {20.5, 20}, {20, 20}}, ""}, 1, units(20, 20, 10)) == kAutoCompact);
  // What cannot run is not taken, however fast it were.
  CHECK(fastest(rule, 1, units(20, 20, 0)) == kAutoCompact);
  CHECK(fastest(rule, 1, units(20, 0, 0)) == kAutoSingle);
  CHECK(fastest(rule, 1000, units(0, 0, 10)) == kAutoPair);
  CHECK(fastest(rule, 1000, units(0, 20, 0)) == kAutoCompact);
  CHECK(fastest(rule, 1, units(0, 0, 0)) == host::kAutoVariants);
  CHECK(fastest(rule, VDN_DELTA_MAX_N, units(INT_MAX, 1, 1)) == kAutoSingle);
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
      // AUTO takes another one, preferred or not.
      const Plan other = make_plan(kH200, n, VDN_VARIANT_AUTO, rows);
      CHECK(other.status == VDN_STATUS_SUCCESS);
      CHECK(other.row != nullptr);
      CHECK(other.row != &rows[r]);
    }
  }
}

TEST_CASE("AUTO: pair for one wave of clusters; and everywhere a variant that the table says is good") {
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
    const host::AutoRule& rule = auto_rule(host::capability_of(c.facts), c.facts.multiprocessors);
    const double pair_first = rule.times[host::kAutoPair].first, pair_next = rule.times[host::kAutoPair].next;
    for (const std::int64_t n : {std::int64_t{0}, std::int64_t{1}, edge - 1, edge, edge + 1, 2 * edge, sms, sms + 1,
                                 3 * edge, 3 * edge + 1, 5 * edge, 8 * sms, VDN_DELTA_MAX_N}) {
      if (n < 0) continue;
      CAPTURE(n);
      const Plan plan = make_plan(c.facts, n, VDN_VARIANT_AUTO);
      REQUIRE(plan.status == VDN_STATUS_SUCCESS);
      const bool is_pair = plan.row->variant == VDN_VARIANT_PAIR;
      CHECK((is_pair || edge == 0 || n > edge));
      CHECK((!is_pair || edge > 0));
      CHECK(plan.grid == (is_pair ? 2 * std::min(n, edge) : std::min(n, sms)));
      CHECK(std::string(plan.why).empty());
      // It is the plan of that variant, forced.
      const Plan forced = make_plan(c.facts, n, plan.row->variant);
      CHECK(forced.row == plan.row);
      CHECK(forced.grid == plan.grid);
      // By the table no other one is faster by more than what has to be gained at each of the two comparisons.
      const auto more = [n](std::int64_t wave) { return static_cast<double>(n > 0 ? (n - 1) / wave : 0); };
      const auto time = [&](vdn_variant_t variant) {
        const host::WaveTimes& one = rule.times[variant == VDN_VARIANT_SINGLE ? host::kAutoSingle : host::kAutoCompact];
        return variant == VDN_VARIANT_PAIR ? pair_first + pair_next * more(edge) : one.first + one.next * more(sms);
      };
      for (const Row& row : kDispatch) {
        if (row.variant == VDN_VARIANT_PAIR && edge == 0) continue;
        CHECK(time(row.variant) >= 0.97 * 0.97 * time(plan.row->variant));
      }
    }
  }
  for (int n = 1; n <= 132; ++n) {
    CAPTURE(n);
    CHECK(make_plan(kH200, n, VDN_VARIANT_AUTO).row->variant == (n <= 66 ? VDN_VARIANT_PAIR : VDN_VARIANT_COMPACT));
  }
}

TEST_CASE("no cluster fits: pair is refused with the reason, AUTO and the others go on") {
  const DeviceFacts facts = device(9, 0, 7, 0);
  for (const std::int64_t n : {std::int64_t{1}, VDN_DELTA_MAX_N}) {
    const Plan pair = make_plan(facts, n, VDN_VARIANT_PAIR);
    CHECK(pair.status == VDN_STATUS_UNSUPPORTED);
    CHECK(pair.row == nullptr);
    CHECK(pair.grid == 0);
    CHECK(says(pair, "cluster of 2"));
    CHECK(says(pair, "variant pair"));
    CHECK(says(pair, "7 multiprocessors"));
    for (const vdn_variant_t variant : {VDN_VARIANT_AUTO, VDN_VARIANT_SINGLE, VDN_VARIANT_COMPACT}) {
      const Plan plan = make_plan(facts, n, variant);
      CHECK(plan.status == VDN_STATUS_SUCCESS);
      CHECK(plan.row->variant != VDN_VARIANT_PAIR);
      CHECK((variant == VDN_VARIANT_AUTO || plan.row->variant == variant));
    }
  }
}

TEST_CASE("AUTO takes the one that can run, whichever it is, for every n") {
  constexpr vdn_variant_t kAll[] = {VDN_VARIANT_PAIR, VDN_VARIANT_SINGLE, VDN_VARIANT_COMPACT};
  for (const vdn_variant_t only : kAll) {
    CAPTURE(static_cast<int>(only));
    DeviceFacts facts = device(11, 0, 20, 10);
    for (const vdn_variant_t variant : kAll)
      if (variant != only) facts_of(facts, variant) = {};
    for (const std::int64_t n : {std::int64_t{1}, std::int64_t{10}, std::int64_t{11}, VDN_DELTA_MAX_N}) {
      const Plan plan = make_plan(facts, n, VDN_VARIANT_AUTO);
      CHECK(plan.status == VDN_STATUS_SUCCESS);
      CHECK(plan.row->variant == only);
      CHECK(plan.grid ==
            (only == VDN_VARIANT_PAIR ? 2 * std::min<std::int64_t>(n, 10) : std::min<std::int64_t>(n, 20)));
      for (const vdn_variant_t variant : kAll)
        CHECK((make_plan(facts, n, variant).status == VDN_STATUS_SUCCESS) == (variant == only));
    }
  }
}

TEST_CASE("capabilities: compact from 8.0 on, the others from 9.0 on") {
  const struct {
    int major, minor;
  } cases[] = {{7, 0}, {7, 5}, {8, 0}, {8, 6}, {8, 9}, {9, 0}, {10, 0}, {10, 3}, {11, 0}, {12, 0}, {12, 1}};
  for (const auto& c : cases) {
    CAPTURE(c.major);
    CAPTURE(c.minor);
    for (const vdn_variant_t variant : {VDN_VARIANT_AUTO, VDN_VARIANT_SINGLE, VDN_VARIANT_PAIR, VDN_VARIANT_COMPACT}) {
      CAPTURE(static_cast<int>(variant));
      const bool needs_hopper = variant == VDN_VARIANT_SINGLE || variant == VDN_VARIANT_PAIR;
      const Plan plan = make_plan(device(c.major, c.minor, 100, 50, 2), 1000, variant);
      const bool runs = c.major >= (needs_hopper ? 9 : 8);
      CHECK(plan.status == (runs ? VDN_STATUS_SUCCESS : VDN_STATUS_UNSUPPORTED));
      CHECK((plan.row != nullptr) == runs);
      if (runs) {
        CHECK((c.major >= 9 || plan.row->variant == VDN_VARIANT_COMPACT));
        CHECK((variant == VDN_VARIANT_AUTO || plan.row->variant == variant));
        CHECK(plan.grid == (plan.row->variant == VDN_VARIANT_PAIR ? 100 : 200));
        CHECK(std::string(plan.why).empty());
      } else {
        // The message names the device's capability and the one that is needed.
        CHECK(says(plan, std::to_string(c.major) + "." + std::to_string(c.minor)));
        CHECK(says(plan, needs_hopper ? "9.0" : "8.0"));
      }
    }
  }
}

TEST_CASE("a device whose shared memory is too small is told so, with both figures") {
  DeviceFacts facts = device(12, 0, 170, 0, 0, 99 * 1024);
  for (VariantFacts& kernel : facts.variants) kernel = {160, 110 * 1024, 0, 0};
  for (const vdn_variant_t variant : {VDN_VARIANT_AUTO, VDN_VARIANT_SINGLE, VDN_VARIANT_PAIR, VDN_VARIANT_COMPACT}) {
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
  for (const vdn_variant_t variant : {VDN_VARIANT_AUTO, VDN_VARIANT_SINGLE, VDN_VARIANT_PAIR, VDN_VARIANT_COMPACT}) {
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
