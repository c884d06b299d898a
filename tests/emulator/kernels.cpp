// SPDX-License-Identifier: Apache-2.0
//
// The shipped kernels, every variant of the dispatch table, through the emulator: for one architecture
// (VDN_EMULATED_ARCH), all schedules, against the fp64 oracle, with the same bits each time.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "phases/pivot.cuh"
#include "support/stored_bits.h"
#include "trial.h"

namespace vdn_delta::test {
namespace {

using emulator::Schedule;

constexpr int kRandomSchedules = 18;
constexpr std::size_t kFewest = 3;  // what the sanitizers look for does not hang on the schedule

// As many as fit into the minutes that a test may take, spread over all kinds. VDN_TEST_QUICK asks for the fewest
// (under sanitizers of the host), VDN_TEST_ALL_SCHEDULES for every one.
std::vector<Schedule> schedules_of(const host::Row& row) {
  const Shape shape = shape_of(row);
  const std::vector<Schedule> all = emulator::all_schedules(shape.ctas, shape.warps, kRandomSchedules);
  if (std::getenv("VDN_TEST_ALL_SCHEDULES") != nullptr) return all;
  // A cluster's take four times as long as those of a single CTA.
  const std::size_t most = std::getenv("VDN_TEST_QUICK") != nullptr ? kFewest : shape.ctas > 1 ? 24 : 48;
  std::vector<Schedule> some;
  for (std::size_t i = 0; i < std::min(most, all.size()); ++i)
    some.push_back(all[i * all.size() / std::min(most, all.size())]);
  return some;
}

const std::vector<Workload>& all_workloads() {
  static const std::vector<Workload> all = workloads();
  return all;
}

// Bits of a NaN are not part of the contract, nor those of the machine that made it.
bool same_values(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (std::memcmp(&a[i], &b[i], 4) != 0 && !(a[i] != a[i] && b[i] != b[i])) return false;
  return true;
}

TEST_CASE("emulator: the dispatch table holds a variant") { CHECK(held_rows().size() >= 1); }

TEST_CASE("emulator: every variant, every workload, every schedule: no fault, right values, the same bits") {
  for (const host::Row* held : held_rows()) {
    const host::Row& row = *held;
    const std::string variant = row.name;
    CAPTURE(variant);
    const std::vector<Schedule> schedules = schedules_of(row);
    REQUIRE(schedules.size() >= kFewest);
    std::uint64_t words = 0, transfers = 0;
    for (const Workload& workload : all_workloads()) {
      CAPTURE(workload.name);
      Output first;
      for (const Schedule& schedule : schedules) {
        const std::string how = emulator::describe(schedule);
        CAPTURE(how);
        Output output;
        const Finding finding = run_trial(row, workload, schedule, 0, &output);
        CAPTURE(finding.text);
        REQUIRE(finding.kind == "");
        if (first.T.empty()) first = output;
        REQUIRE(same_values(output.T, first.T));
        REQUIRE(same_values(output.J, first.J));
        words += emulator::machine().statistics.words;
        transfers += emulator::machine().statistics.transfers;
      }
    }
    std::printf("  %s, sm_%d: %zu schedules, %zu workloads, %llu words checked, %llu transfers\n", row.name,
                VDN_EMULATED_ARCH / 10, schedules.size(), all_workloads().size(),
                static_cast<unsigned long long>(words), static_cast<unsigned long long>(transfers));
  }
}

TEST_CASE("emulator: the bits that are stored from an H200") {
  for (const support::StoredCase& stored : support::stored_cases()) {
    CAPTURE(stored.name);
    REQUIRE_FALSE(stored_rows(stored).empty());
    Workload workload;
    workload.batch = stored.batch;
    workload.a_scale = stored.a_scale, workload.b_scale = stored.b_scale;
    expect_values(&workload);
    for (const host::Row* held : held_rows()) {
      const host::Row& row = *held;
      const std::string variant = row.name;
      CAPTURE(variant);
      for (const int error : {0, -1, 1}) {
        CAPTURE(error);
        Output output;
        const Finding finding = run_trial(row, workload, Schedule{}, error, &output);
        CAPTURE(finding.text);
        REQUIRE(finding.kind == "");
        CHECK(bit_rows(stored, output.T, output.J) == stored_rows(stored));
      }
    }
  }
}

// The model of the instruction is the correctly rounded reciprocal, or one ulp beside it (layer/arch/warp_math.cuh). On
// an H200 it is never further off, and what the library makes of it is correctly rounded for every mantissa
// (tests/device/stored_bits.cpp). From every start within an ulp that is nearly so: the cases counted here.
TEST_CASE("emulator: the pivots' reciprocal from every start within one ulp") {
  int wrong_of_all = 0;
  for (const int error : {-1, 0, 1}) {
    emulator::machine().settings.rcp_error = error;
    int wrong = 0, far = 0;
    for (std::uint32_t mantissa = 0; mantissa < 1u << 23; ++mantissa) {
      const std::uint32_t bits = 127u << 23 | mantissa;
      float d;
      std::memcpy(&d, &bits, 4);
      const float exact = 1.0f / d, made = phases::pivot_reciprocal(d);
      wrong += made != exact ? 1 : 0;
      far += std::fabs(made - exact) > std::ldexp(exact, -23) ? 1 : 0;
    }
    std::printf("  start off by %d ulp: %d of 2^23 not correctly rounded\n", error, wrong);
    wrong_of_all += wrong;
    CHECK(far == 0);
  }
  emulator::machine().settings.rcp_error = 0;
  CHECK(wrong_of_all == 33);  // docs/emulator.md quotes it
}

TEST_CASE("emulator: an approximate reciprocal one ulp off gives the same bits") {
  for (const host::Row* held : held_rows()) {
    const host::Row& row = *held;
    const std::string variant = row.name;
    CAPTURE(variant);
    for (const Workload& workload : all_workloads()) {
      CAPTURE(workload.name);
      Output exact;
      REQUIRE(run_trial(row, workload, Schedule{}, 0, &exact).kind == "");
      for (const int error : {-1, 1}) {
        CAPTURE(error);
        Output off;
        REQUIRE(run_trial(row, workload, Schedule{}, error, &off).kind == "");
        CHECK(same_values(off.T, exact.T));
        CHECK(same_values(off.J, exact.J));
      }
    }
  }
}

}  // namespace
}  // namespace vdn_delta::test
