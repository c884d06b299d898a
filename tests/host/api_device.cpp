// SPDX-License-Identifier: Apache-2.0
//
// The C API down to the launch, against a made-up CUDA runtime: what a kernel is given, and what a plan says.
#include <doctest/doctest.h>
#include <vdn_delta/vdn_delta.h>

#include <cstddef>
#include <cstring>
#include <string>

#include "fake_runtime.h"

vdn_status_t enqueue_factors(int64_t n, const float* A, const float* B, const float* alpha, float* T, float* J,
                             int32_t* info, cudaStream_t stream);  // tests/headers/example_gpu.cpp

namespace {

const auto at = [](std::uintptr_t address) { return reinterpret_cast<float*>(address); };

// One device for all cases: they do not depend on whether it has been prepared.
struct OneDevice : fake::Runtime {
  OneDevice() { fake::runtime = this; }
};

TEST_CASE("the kernel is given the caller's pointers and options as they are") {
  OneDevice runtime;
  vdn_delta_options_t options = VDN_DELTA_OPTIONS_INIT;
  options.a_scale = 2.0f;
  options.b_scale = 3.0f;
  options.programmatic_launch = 1;
  options.info = reinterpret_cast<std::int32_t*>(0x900004);
  // No pointer is read through: none of these is mapped. Odd multiples of 4, as any such alignment is accepted.
  void* const per_thread = reinterpret_cast<void*>(0x2);  // the handle cudaStreamPerThread
  CHECK(vdn_delta_factors(2, at(0x100004), at(0x200004), at(0x300004), at(0x400004), at(0x500004), &options,
                          per_thread) == VDN_STATUS_SUCCESS);
  CHECK(runtime.launches == 1);
  CHECK(runtime.params.A == at(0x100004));
  CHECK(runtime.params.B == at(0x200004));
  CHECK(runtime.params.alpha == at(0x300004));
  CHECK(runtime.params.T == at(0x400004));
  CHECK(runtime.params.J == at(0x500004));
  CHECK(runtime.params.info == options.info);
  CHECK(runtime.params.n == 2);
  CHECK(runtime.params.a_scale == 2.0f);
  CHECK(runtime.params.b_scale == 3.0f);
  CHECK(runtime.shape.programmatic_launch);
  CHECK(runtime.stream == per_thread);

  CHECK(vdn_delta_factors(2, at(0x100004), at(0x200004), at(0x300004), at(0x400004), at(0x500004), nullptr, nullptr) ==
        VDN_STATUS_SUCCESS);
  CHECK(runtime.params.info == nullptr);
  CHECK(runtime.params.a_scale == 1.0f);
  CHECK(runtime.params.b_scale == 1.0f);
  CHECK_FALSE(runtime.shape.programmatic_launch);
  CHECK(runtime.stream == nullptr);
}

TEST_CASE("the README's example launches what it says") {
  OneDevice runtime;
  std::int32_t* const info = reinterpret_cast<std::int32_t*>(0x900004);
  CHECK(enqueue_factors(3, at(0x100000), at(0x200000), at(0x300000), at(0x400000), at(0x500000), info, nullptr) ==
        VDN_STATUS_SUCCESS);
  CHECK(runtime.launches == 1);
  CHECK(runtime.launched == VDN_VARIANT_PAIR);
  CHECK(runtime.params.n == 3);
  CHECK(runtime.params.J == at(0x500000));
  CHECK(runtime.params.info == info);
}

TEST_CASE("refused arguments and n = 0 reach no runtime call") {
  OneDevice runtime;
  CHECK(vdn_delta_factors(0, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr) == VDN_STATUS_SUCCESS);
  CHECK(vdn_delta_factors(-1, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr) ==
        VDN_STATUS_INVALID_ARGUMENT);
  CHECK(vdn_delta_factors(1, at(0x100000), at(0x100000), at(0x100000), at(0x100000), at(0x500000), nullptr, nullptr) ==
        VDN_STATUS_OVERLAP);
  CHECK(runtime.calls == 0);
  CHECK(runtime.launches == 0);
}

TEST_CASE("a plan, whole") {
  OneDevice runtime;
  vdn_delta_plan_t plan = VDN_DELTA_PLAN_INIT;
  REQUIRE(vdn_delta_plan(707, nullptr, 0, &plan) == VDN_STATUS_SUCCESS);
  CHECK(std::string(vdn_last_error_message()) == "");
  CHECK(plan.size == sizeof plan);
  CHECK(plan.variant == VDN_VARIANT_SINGLE);
  CHECK(plan.device == 0);
  CHECK(plan.capability_major == 9);
  CHECK(plan.capability_minor == 0);
  CHECK(plan.multiprocessors == 132);
  CHECK(plan.grid == 396);
  CHECK(plan.block == 160);
  CHECK(plan.cluster == 1);
  CHECK(plan.shared_bytes == 70000);
  CHECK(plan.ctas_per_multiprocessor == 3);
  CHECK(runtime.launches == 0);

  // One wave of clusters, by AUTO; more than one, forced.
  vdn_delta_options_t options = VDN_DELTA_OPTIONS_INIT;
  for (const std::int64_t n : {66, 707}) {
    if (n == 707) options.variant = VDN_VARIANT_PAIR;
    REQUIRE(vdn_delta_plan(n, &options, 0, &plan) == VDN_STATUS_SUCCESS);
    CHECK(plan.variant == VDN_VARIANT_PAIR);
    CHECK(plan.grid == 132);
    CHECK(plan.block == 448);
    CHECK(plan.cluster == 2);
    CHECK(plan.shared_bytes == 120000);
    CHECK(plan.ctas_per_multiprocessor == 1);
  }

  REQUIRE(vdn_delta_plan(0, nullptr, -1, &plan) == VDN_STATUS_SUCCESS);
  CHECK(plan.grid == 0);
}

TEST_CASE("a plan of an older caller: nothing beyond its size is written") {
  OneDevice runtime;
  unsigned char untouched[sizeof(vdn_delta_plan_t)];
  std::memset(untouched, 0xa5, sizeof untouched);
  int sizes = 0;
  for (std::size_t size = offsetof(vdn_delta_plan_t, variant); size <= sizeof(vdn_delta_plan_t); size += 4) {
    CAPTURE(size);
    vdn_delta_plan_t plan;
    std::memset(&plan, 0xa5, sizeof plan);
    plan.size = size;
    CHECK(vdn_delta_plan(707, nullptr, 0, &plan) == VDN_STATUS_SUCCESS);
    CHECK(plan.size == size);
    CHECK(std::memcmp(reinterpret_cast<unsigned char*>(&plan) + size, untouched, sizeof plan - size) == 0);
    if (size > offsetof(vdn_delta_plan_t, grid)) CHECK(plan.grid == 396);
    ++sizes;
  }
  CHECK(sizes == 11);
}

TEST_CASE("a forced variant that cannot run: UNSUPPORTED from call and plan, and the plan stays as it was") {
  OneDevice runtime;
  runtime.device.pair.clusters = 0;
  cudaSetDevice(5);  // not prepared by the other cases
  vdn_delta_options_t options = VDN_DELTA_OPTIONS_INIT;
  options.variant = VDN_VARIANT_PAIR;
  vdn_delta_plan_t plan = VDN_DELTA_PLAN_INIT;
  CHECK(vdn_delta_plan(707, &options, -1, &plan) == VDN_STATUS_UNSUPPORTED);
  CHECK(plan.device == -1);
  CHECK(vdn_delta_factors(1, at(0x100000), at(0x200000), at(0x300000), at(0x400000), at(0x500000), &options, nullptr) ==
        VDN_STATUS_UNSUPPORTED);
  CHECK(std::string(vdn_last_error_message()).find("pair") != std::string::npos);
  CHECK(runtime.launches == 0);
  REQUIRE(vdn_delta_plan(1, nullptr, -1, &plan) == VDN_STATUS_SUCCESS);
  CHECK(plan.variant == VDN_VARIANT_COMPACT);
  CHECK(plan.device == 5);
  cudaSetDevice(0);
}

TEST_CASE("prepare reports a device that does not exist") {
  OneDevice runtime;
  runtime.devices = 1;
  CHECK(vdn_delta_prepare(1) == VDN_STATUS_INVALID_ARGUMENT);
  CHECK(vdn_delta_prepare(0) == VDN_STATUS_SUCCESS);
  CHECK(std::string(vdn_last_error_message()) == "");
  CHECK(vdn_delta_prepare(-1) == VDN_STATUS_SUCCESS);
}

}  // namespace
