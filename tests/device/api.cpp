// SPDX-License-Identifier: Apache-2.0
//
// The C API on a real device:
//   - vdn_delta_plan says what is launched; a variant that is not there answers UNSUPPORTED, everywhere alike;
//   - n = 0 succeeds and launches nothing (SHP-09);
//   - refused calls, in place among them (MEM-10), write nothing, leave the runtime's last error clean, and the next
//     call works (STR-12); vdn_delta_prepare.
#include <algorithm>
#include <cmath>
#include <limits>

#include "call.h"
#include "host/dispatch.h"

namespace vdn_delta::test {
namespace {

int attribute(cudaDeviceAttr which) {
  int device = 0, value = 0;
  VDN_CUDA(cudaGetDevice(&device));
  VDN_CUDA(cudaDeviceGetAttribute(&value, which, device));
  return value;
}

bool is_runtime_clean() { return cudaGetLastError() == cudaSuccess; }

TEST_CASE("device api: the plan") {
  int device = -1;
  VDN_CUDA(cudaGetDevice(&device));
  const std::vector<Variant> held = variants();
  for (const host::Row& row : host::kDispatch) {
    CAPTURE(row.name);
    vdn_delta_options_t options = VDN_DELTA_OPTIONS_INIT;
    options.variant = row.variant;
    const bool is_run_here =
        std::any_of(held.begin(), held.end(), [&](const Variant& variant) { return variant.id == row.variant; });
    if (!is_run_here) {
      vdn_delta_plan_t plan = VDN_DELTA_PLAN_INIT;
      CHECK(vdn_delta_plan(64, &options, -1, &plan) == VDN_STATUS_UNSUPPORTED);
      CHECK(std::string(vdn_last_error_message()) != "");
      CHECK(plan.grid == 0);
      CHECK(plan.device == -1);
      continue;
    }
    const std::int64_t wave = multiprocessors();
    host::VariantFacts kernel;  // the kernel's own word
    VDN_CUDA(static_cast<cudaError_t>(row.prepare(&kernel)));
    for (const std::int64_t n :
         {std::int64_t{0}, std::int64_t{1}, std::int64_t{2}, wave - 1, wave, wave + 1, VDN_DELTA_MAX_N}) {
      CAPTURE(n);
      vdn_delta_plan_t plan = VDN_DELTA_PLAN_INIT;
      REQUIRE(vdn_delta_plan(n, &options, -1, &plan) == VDN_STATUS_SUCCESS);
      CHECK(plan.size == sizeof plan);
      CHECK(plan.variant == row.variant);
      CHECK(plan.device == device);
      CHECK(plan.capability_major == attribute(cudaDevAttrComputeCapabilityMajor));
      CHECK(plan.capability_minor == attribute(cudaDevAttrComputeCapabilityMinor));
      CHECK(plan.multiprocessors == wave);
      CHECK(plan.cluster == row.cluster);
      CHECK(plan.ctas_per_multiprocessor >= 1);
      const std::int64_t resident = plan.cluster == 1 ? wave * plan.ctas_per_multiprocessor : kernel.clusters;
      CHECK(resident >= 1);
      CHECK(resident * plan.cluster <= wave * plan.ctas_per_multiprocessor);
      CHECK(plan.grid == std::min(n, resident) * plan.cluster);
      CHECK(plan.block == kernel.threads);
      CHECK(plan.shared_bytes == kernel.shared_bytes);
      CHECK(plan.block >= 32);
      CHECK(plan.block <= 1024);
      CHECK(plan.block % 32 == 0);
      CHECK(plan.shared_bytes >= 0);
      CHECK(plan.shared_bytes <= attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin));
    }
  }
  // Pair for few, where it runs; for many one that runs.
  vdn_delta_plan_t automatic = VDN_DELTA_PLAN_INIT;
  REQUIRE(vdn_delta_plan(1, nullptr, device, &automatic) == VDN_STATUS_SUCCESS);
  if (held.front().id == VDN_VARIANT_PAIR) CHECK(automatic.variant == VDN_VARIANT_PAIR);
  REQUIRE(vdn_delta_plan(VDN_DELTA_MAX_N, nullptr, device, &automatic) == VDN_STATUS_SUCCESS);
  CHECK(std::any_of(held.begin(), held.end(), [&](const Variant& variant) { return variant.id == automatic.variant; }));
}

TEST_CASE("device api: AUTO computes with the variant that the plan names") {
  for (const std::int64_t n : {2, 150}) {
    if (quick() && n > 2) continue;
    CAPTURE(n);
    const Batch batch = model_batch(n, 51);
    vdn_delta_plan_t plan = VDN_DELTA_PLAN_INIT;
    REQUIRE(vdn_delta_plan(batch.n, nullptr, -1, &plan) == VDN_STATUS_SUCCESS);
    Call forced;
    forced.variant = plan.variant;
    const Result automatic = run(batch), chosen = run(batch, forced);
    CHECK(count_different(automatic, chosen) == 0);
  }
}

TEST_CASE("device api: a variant that cannot run is refused and writes nothing") {
  const Batch batch = model_batch(2, 52);
  const std::vector<Variant> held = variants();
  for (const host::Row& row : host::kDispatch) {
    if (std::any_of(held.begin(), held.end(), [&](const Variant& variant) { return variant.id == row.variant; }))
      continue;
    CAPTURE(row.name);
    Call call;
    call.variant = row.variant;
    Buffers buffers(batch, call);
    CHECK(buffers.try_enqueue(nullptr) == VDN_STATUS_UNSUPPORTED);
    CHECK(std::string(vdn_last_error_message()) != "");
    CHECK(is_runtime_clean());
    CHECK(buffers.is_untouched());
  }
}

TEST_CASE("SHP-09 device api: n = 0 succeeds and launches nothing") {
  CHECK(vdn_delta_factors(0, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr) == VDN_STATUS_SUCCESS);
  CHECK(is_runtime_clean());
  Stream stream;
  VDN_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  const vdn_status_t status =
      vdn_delta_factors(0, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, static_cast<cudaStream_t>(stream));
  const bool valid = is_capturing(stream);
  const Graph graph(stream);
  CHECK(status == VDN_STATUS_SUCCESS);
  CHECK(valid);
  CHECK(graph.nodes() == 0);
  finish_all();
  CHECK(is_runtime_clean());
}

TEST_CASE("MEM-10, STR-12 device api: refused calls write nothing and leave nothing behind") {
  const Batch batch = model_batch(3, 53);
  const std::int64_t n = batch.n;
  Buffers buffers(batch);
  float* const A = buffers.A().as<float>();
  float* const B = buffers.B().as<float>();
  float* const alpha = buffers.alpha().as<float>();
  float* const T = buffers.T().as<float>();
  float* const J = buffers.J().as<float>();
  const auto misaligned = [](float* p) { return reinterpret_cast<float*>(reinterpret_cast<char*>(p) + 2); };
  const vdn_delta_options_t defaults = VDN_DELTA_OPTIONS_INIT;
  const auto refused = [&](vdn_status_t expected, vdn_status_t status, const char* what) {
    CAPTURE(what);
    CHECK(status == expected);
    CHECK(std::string(vdn_last_error_message()) != "");
    CHECK(is_runtime_clean());
  };
  const auto call = [&](std::int64_t count, float* a, float* b, float* scale, float* t, float* j,
                        const vdn_delta_options_t& options) {
    return vdn_delta_factors(count, a, b, scale, t, j, &options, nullptr);
  };
  refused(VDN_STATUS_NULL_POINTER, call(n, nullptr, B, alpha, T, J, defaults), "A is NULL");
  refused(VDN_STATUS_NULL_POINTER, call(n, A, nullptr, alpha, T, J, defaults), "B is NULL");
  refused(VDN_STATUS_NULL_POINTER, call(n, A, B, nullptr, T, J, defaults), "alpha is NULL");
  refused(VDN_STATUS_NULL_POINTER, call(n, A, B, alpha, nullptr, J, defaults), "T is NULL");
  refused(VDN_STATUS_NULL_POINTER, call(n, A, B, alpha, T, nullptr, defaults), "J is NULL");
  refused(VDN_STATUS_INVALID_ARGUMENT, call(n, misaligned(A), B, alpha, T, J, defaults), "A is misaligned");
  refused(VDN_STATUS_INVALID_ARGUMENT, call(n, A, B, alpha, T, misaligned(J), defaults), "J is misaligned");
  refused(VDN_STATUS_OVERLAP, call(n, A, B, alpha, A, J, defaults), "T is A");
  refused(VDN_STATUS_OVERLAP, call(n, A, B, alpha, T, B, defaults), "J is B");
  refused(VDN_STATUS_OVERLAP, call(n, A, B, alpha, B, A, defaults), "T is B and J is A");
  refused(VDN_STATUS_OVERLAP, call(n, A, B, alpha, T, T, defaults), "J is T");
  refused(VDN_STATUS_OVERLAP, call(n, A, B, alpha, T, T + (n - 1) * kMatrix, defaults), "J begins in T");
  refused(VDN_STATUS_INVALID_ARGUMENT, call(-1, A, B, alpha, T, J, defaults), "n is -1");
  refused(VDN_STATUS_INVALID_ARGUMENT, call(VDN_DELTA_MAX_N + 1, A, B, alpha, T, J, defaults), "n is too large");
  vdn_delta_options_t options = defaults;
  options.info = reinterpret_cast<std::int32_t*>(T);
  refused(VDN_STATUS_OVERLAP, call(n, A, B, alpha, T, J, options), "info is T");
  for (const float scale : {0.0f, -1.0f, std::numeric_limits<float>::quiet_NaN()}) {
    options = defaults;
    options.a_scale = scale;
    refused(VDN_STATUS_INVALID_ARGUMENT, call(n, A, B, alpha, T, J, options), "a_scale");
    options = defaults;
    options.b_scale = scale;
    refused(VDN_STATUS_INVALID_ARGUMENT, call(n, A, B, alpha, T, J, options), "b_scale");
  }
  options = defaults;
  options.programmatic_launch = 2;
  refused(VDN_STATUS_INVALID_ARGUMENT, call(n, A, B, alpha, T, J, options), "programmatic_launch");
  options = defaults;
  options.size = sizeof options + 8;
  refused(VDN_STATUS_INVALID_ARGUMENT, call(n, A, B, alpha, T, J, options), "size");
  CHECK(buffers.is_untouched());

  buffers.enqueue(nullptr);
  CHECK(std::string(vdn_last_error_message()) == "");
  const Result result = buffers.collect(), again = run(batch);
  CHECK(count_different(result, again) == 0);
  CHECK(is_runtime_clean());
}

TEST_CASE("device api: inputs may overlap each other") {
  Batch batch = model_batch(2, 54);
  batch.B = batch.A;
  const Result apart = run(batch);
  const Buffers buffers(batch);
  const vdn_delta_options_t options = VDN_DELTA_OPTIONS_INIT;
  REQUIRE(vdn_delta_factors(batch.n, buffers.A().as<float>(), buffers.A().as<float>(), buffers.alpha().as<float>(),
                            buffers.T().as<float>(), buffers.J().as<float>(), &options, nullptr) == VDN_STATUS_SUCCESS);
  finish_all();
  std::vector<float> T(batch.A.size()), J(batch.A.size());
  buffers.T().download(T.data());
  buffers.J().download(J.data());
  CHECK(same_bits(T, apart.T));
  CHECK(same_bits(J, apart.J));
}

TEST_CASE("device api: prepare") {
  int before = -1, after = -1, devices = 0;
  VDN_CUDA(cudaGetDevice(&before));
  VDN_CUDA(cudaGetDeviceCount(&devices));
  for (int round = 0; round < 2; ++round) {
    CHECK(vdn_delta_prepare(-1) == VDN_STATUS_SUCCESS);
    CHECK(vdn_delta_prepare(before) == VDN_STATUS_SUCCESS);
  }
  CHECK(vdn_delta_prepare(-2) == VDN_STATUS_INVALID_ARGUMENT);
  CHECK(vdn_delta_prepare(1 << 20) == VDN_STATUS_INVALID_ARGUMENT);
  // The runtime is asked, and answers with an error that a sanitizer would count.
  if (!quick()) CHECK(vdn_delta_prepare(devices) == VDN_STATUS_INVALID_ARGUMENT);
  CHECK(is_runtime_clean());
  VDN_CUDA(cudaGetDevice(&after));
  CHECK(before == after);
}

}  // namespace
}  // namespace vdn_delta::test
