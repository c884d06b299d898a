// SPDX-License-Identifier: Apache-2.0
//
// One checked call of the CPU path: what every CPU test goes through. Outputs are poisoned before, guard bands and
// inputs are compared after, in every call.
#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "cpu/cpu.h"
#include "support/guard.h"
#include "support/inputs.h"
#include "vdn_delta/vdn_delta.h"

namespace vdn_delta::test {

using support::Batch;
using support::kDim;
using support::kMatrix;
using support::slice;

// Ways into the CPU path: the public function, and each level that this processor can run, forced.
struct Door {
  bool is_public = true;
  cpu::Level level = cpu::Level::kBaseline;
  std::string name() const { return is_public ? "public" : cpu::level_name(level); }
};

inline std::vector<Door> level_doors() {
  std::vector<Door> doors;
  for (const cpu::Level level : {cpu::Level::kBaseline, cpu::Level::kAvx2, cpu::Level::kAvx512}) {
    if (level <= cpu::best_level()) doors.push_back({false, level});
  }
  return doors;
}

inline std::vector<Door> all_doors() {
  std::vector<Door> doors = level_doors();
  doors.push_back({true, cpu::best_level()});
  return doors;
}

// Elements past a 64-byte boundary.
struct Offsets {
  int A = 0, B = 0, alpha = 0, T = 0, J = 0;
};

struct Call {
  Door door = {};
  int threads = 0;
  float a_scale = 1.0f, b_scale = 1.0f;
  bool with_info = true;
  Offsets offsets = {};
};

struct Result {
  std::vector<float> T, J;
  std::vector<std::int32_t> info;
  std::vector<float> T_of(std::int64_t m) const { return {T.begin() + m * kMatrix, T.begin() + (m + 1) * kMatrix}; }
  std::vector<float> J_of(std::int64_t m) const { return {J.begin() + m * kMatrix, J.begin() + (m + 1) * kMatrix}; }
};

inline Result run(const Batch& batch, const Call& call = {}) {
  const std::string door = call.door.name();
  CAPTURE(door);
  CAPTURE(call.threads);
  CAPTURE(batch.n);
  support::Guarded<float> A(batch.A, call.offsets.A), B(batch.B, call.offsets.B),
      alpha(batch.alpha, call.offsets.alpha), T(batch.n * kMatrix, call.offsets.T),
      J(batch.n * kMatrix, call.offsets.J);
  support::Guarded<std::int32_t> info(batch.n);
  if (call.door.is_public) {
    vdn_delta_options_t options = VDN_DELTA_OPTIONS_INIT;
    options.a_scale = call.a_scale;
    options.b_scale = call.b_scale;
    options.info = call.with_info ? info.data() : nullptr;
    REQUIRE(vdn_delta_factors_host(batch.n, A.data(), B.data(), alpha.data(), T.data(), J.data(), &options,
                                   call.threads) == VDN_STATUS_SUCCESS);
  } else {
    const Params params = {A.data(), B.data(),     alpha.data(),
                           T.data(), J.data(),     call.with_info ? info.data() : nullptr,
                           batch.n,  call.a_scale, call.b_scale};
    REQUIRE(cpu::factors(params, call.threads, call.door.level));
  }
  REQUIRE(A.holds(batch.A));
  REQUIRE(B.holds(batch.B));
  REQUIRE(alpha.holds(batch.alpha));
  REQUIRE(A.guards_intact());
  REQUIRE(B.guards_intact());
  REQUIRE(alpha.guards_intact());
  REQUIRE(T.guards_intact());
  REQUIRE(J.guards_intact());
  REQUIRE(info.guards_intact());
  REQUIRE(T.fully_written());
  REQUIRE(J.fully_written());
  REQUIRE((call.with_info ? info.fully_written() : info.untouched()));
  return {T.values(), J.values(), call.with_info ? info.values() : std::vector<std::int32_t>()};
}

}  // namespace vdn_delta::test
