// SPDX-License-Identifier: Apache-2.0
//
// The bits that are stored in tests/support/stored_bits.inc, and the one approximate instruction behind them. The
// emulator has the same tests (tests/emulator/kernels.cpp), so that what it runs and what a GPU runs are one thing.
#include "support/stored_bits.h"

#include <cstdio>

#include "call.h"

namespace vdn_delta::test {
namespace {

Result run_stored(const support::StoredCase& stored, const Variant& variant) {
  Call call = call_of(variant);
  call.a_scale = stored.a_scale;
  call.b_scale = stored.b_scale;
  return run(stored.batch, call);
}

TEST_CASE("device bits: the stored ones") {
  for (const support::StoredCase& stored : support::stored_cases()) {
    CAPTURE(stored.name);
    for (const Variant& variant : variants()) {
      CAPTURE(variant.name);
      const Result result = run_stored(stored, variant);
      CHECK(count_nonzero(result.info) == 0);
      const support::Errors errors = errors_of(result, reference_of(stored.batch, stored.a_scale, stored.b_scale));
      std::printf("  T %.2e (worst %.2e)  J %.2e (worst %.2e)  %s\n", errors.err_T, errors.worst_T, errors.err_J,
                  errors.worst_J, stored.name);
      CHECK(bit_rows(stored, result.T, result.J) == stored_rows(stored));
    }
  }
}

// device_tests --no-skip --test-case="device bits: print*" prints stored_bits.inc.
TEST_CASE("device bits: print those of the first variant" * doctest::skip()) {
  std::printf("// SPDX-License-Identifier: Apache-2.0\n//\n");
  std::printf("// What an H200 gives; tests/device/stored_bits.cpp prints and compares it. Hashes of T and J, see ");
  std::printf("stored_bits.h.\n");
  for (const support::StoredCase& stored : support::stored_cases()) {
    const Result result = run_stored(stored, variants().front());
    for (const std::string& row : bit_rows(stored, result.T, result.J)) std::printf("    \"%s\",\n", row.c_str());
  }
}

// 1/d of the pivots is correctly rounded for every mantissa: that, and not the approximation that it starts from, is
// what reaches T and J.
TEST_CASE("device bits: the pivots' reciprocal is correctly rounded, for all mantissas of a few exponents") {
  unsigned long long counts[3] = {0, 0, 0};
  DeviceWords counters(6);
  counters.upload(counts);
  REQUIRE(count_reciprocals(reinterpret_cast<unsigned long long*>(counters.as<std::uint32_t>()), nullptr) ==
          cudaSuccess);
  finish_all();
  counters.download(counts);
  std::printf(
      "  %llu reciprocals, %llu not correctly rounded; %llu approximations not, %llu of them by more than 1 ulp\n",
      kReciprocals, counts[0], counts[1], counts[2]);
  CHECK(counts[0] == 0);
  CHECK(counts[1] > 0);  // or else the instruction was not looked at
  CHECK(counts[2] == 0);
}

}  // namespace
}  // namespace vdn_delta::test
