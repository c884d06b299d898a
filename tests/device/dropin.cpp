// SPDX-License-Identifier: Apache-2.0
//
// The one-file header (docs/sglang.md) on a GPU, beside the library in the same process (BLD-19): each variant of its
// launch() has the library's bits at every offset, refuses what the library refuses, does nothing for n = 0, and may be
// first used inside a capture (STR-04). tests/dropin has what needs no GPU.
#include <set>
#include <thread>

#include "../dropin/shim.h"
#include "call.h"

namespace vdn_delta::test {
namespace {

constexpr struct {
  shim::Variant variant;
  const char* name;
} kVariants[] = {{shim::kDefault, "default"}, {shim::kSingle, "single"}, {shim::kPair, "pair"}, {shim::kAuto, "auto"}};

shim::Call shim_call(const Buffers& buffers, bool with_info = true) {
  shim::Call call = shim::call_of_defaults();
  call.A = buffers.A().as<float>();
  call.B = buffers.B().as<float>();
  call.alpha = buffers.alpha().as<float>();
  call.transition = buffers.T().as<float>();
  call.injection = buffers.J().as<float>();
  call.info = with_info ? buffers.info().as<std::int32_t>() : nullptr;
  call.n = buffers.n();
  return call;
}

TEST_CASE("dropin: first use inside a capture") {
  const Batch batch = model_batch(3, 201);
  for (const auto& one : kVariants) {
    CAPTURE(one.name);
    const Buffers buffers(batch);
    Stream stream;
    VDN_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    const int error = launch(one.variant, shim_call(buffers), stream);
    const bool valid = is_capturing(stream);
    const Graph graph(stream);
    CHECK(error == cudaSuccess);
    REQUIRE(valid);
    CHECK(graph.nodes() == 1);
    CHECK(graph.kernel_nodes() == 1);
    CHECK(buffers.is_untouched());
    graph.launch(stream);
    const Result result = buffers.collect();
    // Only now the library.
    CHECK(count_different(result, run(batch)) == 0);
    CHECK(cudaGetLastError() == cudaSuccess);
  }
}

TEST_CASE("dropin: two threads make the first call at once") {
  const Batch batch = model_batch(5, 202);
  const Buffers buffers[] = {Buffers(batch), Buffers(batch)};
  int errors[2] = {-1, -1};
  {
    const Patience patience("two threads");
    std::thread other([&] { errors[1] = launch(shim::kAuto, shim_call(buffers[1]), cudaStreamPerThread); });
    errors[0] = launch(shim::kSingle, shim_call(buffers[0]), cudaStreamPerThread);
    other.join();
  }
  CHECK(errors[0] == cudaSuccess);
  CHECK(errors[1] == cudaSuccess);
  const Result one = buffers[0].collect(), two = buffers[1].collect();
  CHECK(count_different(one, two) == 0);
  CHECK(count_different(one, run(batch)) == 0);
}

TEST_CASE("dropin device: the library's bits, at every size and offset") {
  const std::int64_t wave = multiprocessors();
  std::set<std::int64_t> sizes = {1, 3};
  if (!quick()) sizes.insert({2, wave / 2, wave / 2 + 1, wave, wave + 1, 2 * wave + 1});
  Batch batch = model_batch(*sizes.rbegin(), 203);
  support::break_pivot(batch.A.data() + 2 * kMatrix, 9);
  for (const std::int64_t n : sizes) {
    CAPTURE(n);
    const Batch some = slice(batch, 0, n);
    const Result expected = run(some);
    for (const Offsets& offsets :
         {Offsets{}, Offsets{1, 2, 3, 1, 2, 3}, Offsets{3, 1, 2, 2, 3, 1}, Offsets{1, 0, 0, 0, 0, 0},
          Offsets{0, 1, 0, 0, 0, 0}, Offsets{0, 0, 1, 0, 0, 0}, Offsets{0, 0, 0, 1, 0, 0}, Offsets{0, 0, 0, 0, 1, 0}}) {
      if (quick() && offsets.A != 1) continue;
      CAPTURE(offsets.A);
      CAPTURE(offsets.B);
      CAPTURE(offsets.alpha);
      CAPTURE(offsets.T);
      CAPTURE(offsets.J);
      for (const auto& one : kVariants) {
        if (quick() && one.variant == shim::kAuto) continue;
        CAPTURE(one.name);
        for (const bool with_info : {true, false}) {
          CAPTURE(with_info);
          if (quick() && !with_info) continue;
          Call how;
          how.offsets = offsets;
          how.with_info = with_info;
          const Buffers buffers(some, how);
          REQUIRE(launch(one.variant, shim_call(buffers, with_info), nullptr) == cudaSuccess);
          CHECK(count_different(buffers.collect(), expected) == 0);
        }
      }
    }
  }
}

TEST_CASE("dropin device: scales, and programmatic launch behind a predecessor that writes late (STR-21)") {
  const Batch batches[] = {model_batch(quick() ? 2 : 140, 204), model_batch(quick() ? 2 : 140, 205)};
  const Source source(batches[1]);
  Call how;
  how.a_scale = 0.25f;
  how.b_scale = 3.0f;
  const Result expected = run(batches[1], how);
  VDN_CUDA(load_kernels());
  for (const auto& one : kVariants) {
    CAPTURE(one.name);
    for (int round = 0; round < (quick() ? 1 : 20); ++round) {
      CAPTURE(round);
      Buffers buffers(batches[0], how);
      buffers.expect(batches[1]);
      shim::Call call = shim_call(buffers);
      call.a_scale = how.a_scale;
      call.b_scale = how.b_scale;
      call.programmatic_launch = true;
      Stream stream;
      VDN_CUDA(write_late(source.to(buffers, 100, true), stream));
      REQUIRE(launch(one.variant, call, stream) == cudaSuccess);
      CHECK(count_different(buffers.collect(), expected) == 0);
    }
  }
}

TEST_CASE("dropin device: n = 0, and what is refused writes nothing and leaves nothing behind") {
  const Batch batch = model_batch(2, 206);
  const Buffers buffers(batch);
  for (const auto& one : kVariants) {
    CAPTURE(one.name);
    CHECK(launch(one.variant, shim::call_of_defaults(), nullptr) == cudaSuccess);
    const auto refused = [&](const char* what, auto change) {
      CAPTURE(what);
      shim::Call call = shim_call(buffers);
      change(call);
      CHECK(shim::find_fault(call) != nullptr);
      CHECK(launch(one.variant, call, nullptr) == cudaErrorInvalidValue);
      CHECK(cudaGetLastError() == cudaSuccess);
    };
    refused("in place", [](shim::Call& call) { call.transition = const_cast<float*>(call.A); });
    refused("one output", [](shim::Call& call) { call.injection = call.transition; });
    refused("overlap in the last word", [](shim::Call& call) { call.injection = call.transition + 2 * kMatrix - 1; });
    refused("null", [](shim::Call& call) { call.alpha = nullptr; });
    refused("n", [](shim::Call& call) { call.n = -1; });
    refused("a_scale", [](shim::Call& call) { call.a_scale = 0.0f; });
    refused("misaligned", [](shim::Call& call) {
      call.B = reinterpret_cast<const float*>(reinterpret_cast<const char*>(call.B) + 2);
    });
    Stream stream;
    VDN_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    const int nothing = launch(one.variant, shim::call_of_defaults(), stream);
    const Graph graph(stream);
    CHECK(nothing == cudaSuccess);
    CHECK(graph.nodes() == 0);
  }
  CHECK(buffers.is_untouched());
  if (quick()) return;  // a sanitizer counts what the runtime answers
  // A launch that the runtime refuses: the legacy stream while a blocking one is captured.
  Stream blocking(true);
  VDN_CUDA(cudaStreamBeginCapture(blocking, cudaStreamCaptureModeRelaxed));
  const int error = launch(shim::kSingle, shim_call(buffers), nullptr);
  const cudaError_t left = cudaGetLastError();
  cudaGraph_t graph = nullptr;
  cudaStreamEndCapture(blocking, &graph);
  if (graph != nullptr) cudaGraphDestroy(graph);
  cudaGetLastError();
  CHECK(error != cudaSuccess);
  CHECK(left == cudaSuccess);
  CHECK(buffers.is_untouched());
}

}  // namespace
}  // namespace vdn_delta::test
