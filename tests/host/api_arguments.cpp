// SPDX-License-Identifier: Apache-2.0
//
// Arguments of both calls: each clause of the header's error list, found before anything is launched or written.
#include <doctest/doctest.h>
#include <vdn_delta/vdn_delta.h>

#include <cstdint>
#include <functional>
#include <string>

#include "call.h"

namespace {

using vdn_delta::tests::Call;
using vdn_delta::tests::kMatrix;

struct Refusal {
  const char* what;
  vdn_status_t status;
  const char* named;  // the message contains it
  std::function<void(Call&)> spoil;
};

// Both calls refuse it with the same status and a message that names the argument; no output word changes.
void check_refused(const Refusal& refusal) {
  CAPTURE(refusal.what);
  for (const bool host : {false, true}) {
    CAPTURE(host);
    Call call;
    refusal.spoil(call);
    const vdn_status_t status = host ? call.host() : call.gpu();
    const std::string message = vdn_last_error_message();
    CHECK_EQ(std::string(vdn_status_string(status)), vdn_status_string(refusal.status));
    CHECK_MESSAGE(message.find(refusal.named) != std::string::npos, message);
    CHECK(call.untouched());
  }
}

template <typename Pointer>
void shift_bytes(Pointer& pointer, std::intptr_t bytes) {
  pointer = reinterpret_cast<Pointer>(reinterpret_cast<std::uintptr_t>(pointer) + static_cast<std::uintptr_t>(bytes));
}

bool no_device() { return vdn_delta_prepare(-1) == VDN_STATUS_NO_DEVICE; }

TEST_CASE("n out of range") {
  for (const std::int64_t n : {std::int64_t{-1}, INT64_MIN, VDN_DELTA_MAX_N + 1, std::int64_t{1} << 32, INT64_MAX}) {
    CAPTURE(n);
    check_refused({"n", VDN_STATUS_INVALID_ARGUMENT, "n is", [n](Call& call) { call.n = n; }});
  }
}

TEST_CASE("a required pointer is NULL") {
  const Refusal cases[] = {
      {"A", VDN_STATUS_NULL_POINTER, "A is NULL", [](Call& c) { c.A = nullptr; }},
      {"B", VDN_STATUS_NULL_POINTER, "B is NULL", [](Call& c) { c.B = nullptr; }},
      {"alpha", VDN_STATUS_NULL_POINTER, "alpha is NULL", [](Call& c) { c.alpha = nullptr; }},
      {"T", VDN_STATUS_NULL_POINTER, "T is NULL", [](Call& c) { c.T = nullptr; }},
      {"J", VDN_STATUS_NULL_POINTER, "J is NULL", [](Call& c) { c.J = nullptr; }},
  };
  for (const Refusal& refusal : cases) check_refused(refusal);
}

TEST_CASE("a pointer that is not 4-byte aligned") {
  for (const int bytes : {1, 2, 3}) {
    CAPTURE(bytes);
    const Refusal cases[] = {
        {"A", VDN_STATUS_INVALID_ARGUMENT, "A is not", [=](Call& c) { shift_bytes(c.A, bytes); }},
        {"B", VDN_STATUS_INVALID_ARGUMENT, "B is not", [=](Call& c) { shift_bytes(c.B, bytes); }},
        {"alpha", VDN_STATUS_INVALID_ARGUMENT, "alpha is not", [=](Call& c) { shift_bytes(c.alpha, bytes); }},
        {"T", VDN_STATUS_INVALID_ARGUMENT, "T is not", [=](Call& c) { shift_bytes(c.T, bytes); }},
        {"J", VDN_STATUS_INVALID_ARGUMENT, "J is not", [=](Call& c) { shift_bytes(c.J, bytes); }},
        {"info", VDN_STATUS_INVALID_ARGUMENT, "info is not",
         [=](Call& c) {
           c.options.info = c.info_words();
           shift_bytes(c.options.info, bytes);
         }},
    };
    for (const Refusal& refusal : cases) check_refused(refusal);
  }
}

// An output placed on another array: on its start, and so that only the last or the first word is shared.
TEST_CASE("outputs overlap inputs or each other") {
  const auto n = Call().n;
  const std::int64_t words[] = {n * kMatrix, n * kMatrix, n * VDN_DELTA_DIM, n * kMatrix, n * kMatrix, n};
  const char* const names[] = {"A", "B", "alpha", "T", "J", "info"};
  const auto pointer_of = [](Call& call, int array) -> const float* {
    const void* const all[] = {call.A, call.B, call.alpha, call.T, call.J, call.info_words()};
    return static_cast<const float*>(all[array]);
  };
  const auto place = [](Call& call, int array, const float* at) {
    float* const to = const_cast<float*>(at);
    if (array == 3) call.T = to;
    if (array == 4) call.J = to;
    if (array == 5) call.options.info = reinterpret_cast<std::int32_t*>(to);
  };
  for (int output = 3; output < 6; ++output) {
    for (int other = 0; other < 6; ++other) {
      if (other == output) continue;
      CAPTURE(names[output]);
      CAPTURE(names[other]);
      for (const std::int64_t offset : {std::int64_t{0}, words[other] - 1, 1 - words[output]}) {
        CAPTURE(offset);
        check_refused({"overlap", VDN_STATUS_OVERLAP, "overlaps", [&](Call& call) {
                         call.options.info = call.info_words();
                         place(call, output, pointer_of(call, other) + offset);
                       }});
      }
    }
  }
}

TEST_CASE("arrays that touch do not overlap, and the inputs may be one array") {
  Call call;  // the arena has no gaps
  call.options.info = call.info_words();
  CHECK(call.host() == VDN_STATUS_SUCCESS);
  CHECK(call.T[0] == doctest::Approx(0.5));
  CHECK(call.J[call.n * kMatrix - 1] == doctest::Approx(0.5));
  CHECK(call.info_words()[call.n - 1] == 0);

  Call same;
  same.B = same.A;
  same.alpha = same.A;
  CHECK(same.host() == VDN_STATUS_SUCCESS);
  CHECK(same.J[0] == doctest::Approx(0.5));
}

TEST_CASE("ranges are 64-bit: an overlap far beyond 4 GiB is seen, and none is imagined") {
  const auto at = [](std::uint64_t address) { return reinterpret_cast<float*>(static_cast<std::uintptr_t>(address)); };
  const std::uint64_t tensor = std::uint64_t{1} << 46;  // n = 2^30 matrices
  const std::uint64_t base = std::uint64_t{1} << 47;
  const auto status = [&](std::uint64_t t) {
    return vdn_delta_factors(VDN_DELTA_MAX_N, at(base), at(base), at(base), at(t), at(base + 8 * tensor), nullptr,
                             nullptr);
  };
  CHECK(status(base + tensor - 4) == VDN_STATUS_OVERLAP);
  CHECK(status(base - tensor + 4) == VDN_STATUS_OVERLAP);
  CHECK(status(base + 7 * tensor + 4) == VDN_STATUS_OVERLAP);  // with J
  if (no_device()) {
    CHECK(status(base + tensor) == VDN_STATUS_NO_DEVICE);
    CHECK(status(base - tensor) == VDN_STATUS_NO_DEVICE);
    CHECK(status(base + 7 * tensor) == VDN_STATUS_NO_DEVICE);
  }
}

TEST_CASE("n = 0 succeeds, with NULL pointers, without a GPU, and writes nothing") {
  CHECK(vdn_delta_factors(0, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr) == VDN_STATUS_SUCCESS);
  CHECK(vdn_delta_factors_host(0, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, 0) == VDN_STATUS_SUCCESS);
  for (const bool host : {false, true}) {
    Call call;
    call.n = 0;
    call.T = call.J;
    call.options.info = call.info_words();
    CHECK((host ? call.host() : call.gpu()) == VDN_STATUS_SUCCESS);
    CHECK(call.untouched());
  }
}

TEST_CASE("with good arguments and no GPU the answer is NO_DEVICE, and nothing is written") {
  if (!no_device()) return;  // this machine has a GPU, and these are host pointers
  for (const vdn_variant_t variant : {VDN_VARIANT_AUTO, VDN_VARIANT_PAIR, VDN_VARIANT_SINGLE, VDN_VARIANT_COMPACT}) {
    Call call;
    call.options.variant = variant;
    call.options.info = call.info_words();
    CHECK(call.gpu() == VDN_STATUS_NO_DEVICE);
    CHECK(std::string(vdn_last_error_message()) != "");
    CHECK(call.untouched());
  }
  vdn_delta_plan_t plan = VDN_DELTA_PLAN_INIT;
  CHECK(vdn_delta_plan(707, nullptr, -1, &plan) == VDN_STATUS_NO_DEVICE);
  CHECK(vdn_delta_plan(0, nullptr, 0, &plan) == VDN_STATUS_NO_DEVICE);
  CHECK(plan.device == -1);
  CHECK(vdn_delta_prepare(0) == VDN_STATUS_NO_DEVICE);
}

TEST_CASE("the host call: threads") {
  for (const int threads : {0, 1, 3, 1000}) {
    Call call;
    CHECK(call.host(threads) == VDN_STATUS_SUCCESS);
    CHECK(call.T[0] == doctest::Approx(0.5));
  }
  for (const int threads : {-1, INT32_MIN}) {
    Call call;
    CHECK(call.host(threads) == VDN_STATUS_INVALID_ARGUMENT);
    CHECK(call.untouched());
  }
}

TEST_CASE("plan and prepare: their own arguments, checked before the device") {
  CHECK(vdn_delta_plan(1, nullptr, -1, nullptr) == VDN_STATUS_NULL_POINTER);
  const auto plan_of = [](std::int64_t n, int device, std::size_t size) {
    vdn_delta_plan_t plan = VDN_DELTA_PLAN_INIT;
    plan.size = size;
    plan.grid = 77;
    const vdn_status_t status = vdn_delta_plan(n, nullptr, device, &plan);
    CHECK((status == VDN_STATUS_SUCCESS || (plan.grid == 77 && plan.size == size)));
    return status;
  };
  const std::size_t full = sizeof(vdn_delta_plan_t);
  CHECK(plan_of(-1, -1, full) == VDN_STATUS_INVALID_ARGUMENT);
  CHECK(plan_of(VDN_DELTA_MAX_N + 1, -1, full) == VDN_STATUS_INVALID_ARGUMENT);
  CHECK(plan_of(1, -2, full) == VDN_STATUS_INVALID_ARGUMENT);
  CHECK(plan_of(1, -1, 0) == VDN_STATUS_INVALID_ARGUMENT);
  CHECK(plan_of(1, -1, full - 1) == VDN_STATUS_INVALID_ARGUMENT);
  CHECK(plan_of(1, -1, full + 4) == VDN_STATUS_INVALID_ARGUMENT);
  CHECK(plan_of(1, -1, full) != VDN_STATUS_INVALID_ARGUMENT);
  CHECK(plan_of(1, -1, offsetof(vdn_delta_plan_t, grid)) != VDN_STATUS_INVALID_ARGUMENT);
  CHECK(vdn_delta_prepare(-2) == VDN_STATUS_INVALID_ARGUMENT);
}

}  // namespace
