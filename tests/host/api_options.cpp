// SPDX-License-Identifier: Apache-2.0
//
// The options of both calls: the size rule and each field's range.
#include <doctest/doctest.h>
#include <vdn_delta/vdn_delta.h>

#include <cfloat>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <set>
#include <string>

#include "call.h"

namespace {

using vdn_delta::tests::Call;

// What each function answers for these options. n = 0 shows acceptance without a GPU: options are checked even then.
struct Answers {
  vdn_status_t gpu, host, plan;
};

Answers answers(const vdn_delta_options_t* options) {
  vdn_delta_plan_t plan = VDN_DELTA_PLAN_INIT;
  return {vdn_delta_factors(0, nullptr, nullptr, nullptr, nullptr, nullptr, options, nullptr),
          vdn_delta_factors_host(0, nullptr, nullptr, nullptr, nullptr, nullptr, options, 1),
          vdn_delta_plan(1, options, -1, &plan)};
}

void check_accepted(const vdn_delta_options_t* options) {
  const Answers got = answers(options);
  CHECK(got.gpu == VDN_STATUS_SUCCESS);
  CHECK(got.host == VDN_STATUS_SUCCESS);
  CHECK(got.plan != VDN_STATUS_INVALID_ARGUMENT);  // a GPU may be missing, or lack the variant
}

void check_refused(const vdn_delta_options_t* options) {
  const Answers got = answers(options);
  CHECK(got.gpu == VDN_STATUS_INVALID_ARGUMENT);
  CHECK(got.host == VDN_STATUS_INVALID_ARGUMENT);
  CHECK(got.plan == VDN_STATUS_INVALID_ARGUMENT);
  CHECK(std::string(vdn_last_error_message()).find("options->") != std::string::npos);
}

TEST_CASE("sizes: the offset of a field or the whole, nothing else") {
  const std::set<std::size_t> known = {
      offsetof(vdn_delta_options_t, variant), offsetof(vdn_delta_options_t, programmatic_launch),
      offsetof(vdn_delta_options_t, a_scale), offsetof(vdn_delta_options_t, b_scale),
      offsetof(vdn_delta_options_t, info),    sizeof(vdn_delta_options_t),
  };
  int accepted = 0;
  for (std::size_t size = 0; size <= 4 * sizeof(vdn_delta_options_t); ++size) {
    CAPTURE(size);
    vdn_delta_options_t options[4] = {VDN_DELTA_OPTIONS_INIT};
    options[0].size = size;
    if (known.count(size) != 0) {
      check_accepted(options);
      ++accepted;
    } else {
      check_refused(options);
    }
  }
  CHECK(accepted == 6);
  for (const std::size_t size : {std::numeric_limits<std::size_t>::max(), std::size_t{1} << 32}) {
    vdn_delta_options_t options = VDN_DELTA_OPTIONS_INIT;
    options.size = size;
    check_refused(&options);
  }
}

TEST_CASE("fields beyond the size are not read: they have their defaults") {
  Call call;
  std::memset(&call.options, 0xff, sizeof call.options);  // invalid values, and an address that must not be written
  for (const std::size_t size : {offsetof(vdn_delta_options_t, variant), offsetof(vdn_delta_options_t, info)}) {
    call.options.size = size;
    if (size == offsetof(vdn_delta_options_t, info)) {
      call.options.variant = VDN_VARIANT_AUTO;
      call.options.programmatic_launch = 0;
      call.options.a_scale = 1.0f;
      call.options.b_scale = 4.0f;
    }
    CHECK(call.host() == VDN_STATUS_SUCCESS);
    CHECK(call.T[0] == doctest::Approx(0.5));
    CHECK(call.J[0] == doctest::Approx(size == offsetof(vdn_delta_options_t, info) ? 2.0 : 0.5));
  }
}

TEST_CASE("NULL options are the defaults") {
  check_accepted(nullptr);
  Call call;
  call.null_options = true;
  CHECK(call.host() == VDN_STATUS_SUCCESS);
  CHECK(call.T[0] == doctest::Approx(0.5));
}

TEST_CASE("variant") {
  for (const int value : {-1, 0, 1, 2, 3, 4, 255, INT32_MAX, INT32_MIN}) {
    CAPTURE(value);
    vdn_delta_options_t options = VDN_DELTA_OPTIONS_INIT;
    std::memcpy(&options.variant, &value, sizeof value);
    value >= 0 && value <= 3 ? check_accepted(&options) : check_refused(&options);
    const bool says = std::string(vdn_last_error_message()).find("_COMPACT (3)") != std::string::npos;
    CHECK(says == (value < 0 || value > 3));  // what is allowed
  }
}

TEST_CASE("the host call takes every variant and programmatic launch, without effect") {
  for (const vdn_variant_t variant : {VDN_VARIANT_AUTO, VDN_VARIANT_PAIR, VDN_VARIANT_SINGLE, VDN_VARIANT_COMPACT}) {
    Call call;
    call.options.variant = variant;
    call.options.programmatic_launch = 1;
    CHECK(call.host() == VDN_STATUS_SUCCESS);
    CHECK(call.T[0] == doctest::Approx(0.5));
  }
}

TEST_CASE("programmatic_launch") {
  for (const int value : {-1, 0, 1, 2, 256, INT32_MIN}) {
    CAPTURE(value);
    vdn_delta_options_t options = VDN_DELTA_OPTIONS_INIT;
    options.programmatic_launch = value;
    value == 0 || value == 1 ? check_accepted(&options) : check_refused(&options);
  }
}

TEST_CASE("scales: finite and > 0") {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const bool a : {true, false}) {
    CAPTURE(a);
    vdn_delta_options_t options = VDN_DELTA_OPTIONS_INIT;
    float& scale = a ? options.a_scale : options.b_scale;
    for (const float value : {1.0f, 0.5f, 1e-3f, FLT_MIN, std::numeric_limits<float>::denorm_min(), FLT_MAX}) {
      CAPTURE(value);
      scale = value;
      check_accepted(&options);
    }
    for (const float value : {0.0f, -0.0f, -1.0f, infinity, -infinity, std::nanf("")}) {
      CAPTURE(value);
      scale = value;
      check_refused(&options);
    }
  }
}

TEST_CASE("scales act as documented") {
  Call call;  // A = B = I
  call.options.a_scale = 3.0f;
  call.options.b_scale = 2.0f;
  CHECK(call.host() == VDN_STATUS_SUCCESS);
  CHECK(call.T[0] == doctest::Approx(0.25));
  CHECK(call.J[0] == doctest::Approx(0.5));
}

}  // namespace
