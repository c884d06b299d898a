// SPDX-License-Identifier: Apache-2.0
//
// The call in a captured graph, with and without programmatic launch (STR-25):
//   - in each capture mode one kernel node and nothing else (MEM-12, STR-03), whose replays with new inputs have the
//   bits
//     of eager calls, whatever stream they run in;
//   - after a small eager call, a large one is captured (STR-05);
//   - several calls in one graph; a refused call leaves the capture valid.
#include "call.h"

namespace vdn_delta::test {
namespace {

struct Mode {
  cudaStreamCaptureMode mode;
  const char* name;
};
constexpr Mode kModes[] = {{cudaStreamCaptureModeGlobal, "global"},
                           {cudaStreamCaptureModeThreadLocal, "thread-local"},
                           {cudaStreamCaptureModeRelaxed, "relaxed"}};

TEST_CASE("STR-03, STR-25, MEM-12 device graphs: replays with new inputs are eager calls to the bit") {
  const std::int64_t n = quick() ? 3 : multiprocessors() + 3;
  const int rounds = quick() ? 2 : 10;
  for (const Variant& variant : variants()) {
    CAPTURE(variant.name);
    Call call = call_of(variant);
    std::vector<Batch> batches;
    std::vector<Result> expected;
    for (int round = 0; round < rounds; ++round) {
      batches.push_back(model_batch(n, 71 + static_cast<std::uint64_t>(round)));
      expected.push_back(run(batches.back(), call));
    }
    for (const bool programmatic : {false, true}) {
      CAPTURE(programmatic);
      call.programmatic = programmatic;
      for (const Mode& mode : kModes) {
        if (quick() && mode.mode != cudaStreamCaptureModeGlobal) continue;
        CAPTURE(mode.name);
        Buffers buffers(batches[0], call);
        Stream stream, other, blocking(true);
        VDN_CUDA(cudaStreamBeginCapture(stream, mode.mode));
        const vdn_status_t status = buffers.try_enqueue(static_cast<cudaStream_t>(stream));
        const bool valid = is_capturing(stream);
        const Graph graph(stream);
        REQUIRE(status == VDN_STATUS_SUCCESS);
        REQUIRE(valid);
        CHECK(graph.nodes() == 1);
        CHECK(graph.kernel_nodes() == 1);
        CHECK(buffers.is_untouched());
        const cudaStream_t streams[] = {stream, other, blocking, cudaStreamLegacy, cudaStreamPerThread};
        for (int round = 0; round < rounds; ++round) {
          CAPTURE(round);
          buffers.poison();
          buffers.write(batches[static_cast<std::size_t>(round)]);
          graph.launch(streams[round % 5]);
          const Result result = buffers.collect();
          CHECK(count_different(result, expected[static_cast<std::size_t>(round)]) == 0);
        }
      }
    }
  }
  CHECK(cudaGetLastError() == cudaSuccess);
}

TEST_CASE("STR-05 device graphs: eager with n = 8, then captured with n = 4096, and the reverse") {
  if (quick()) return;
  const Batch few = model_batch(8, 81);
  std::vector<std::int64_t> order;
  for (std::int64_t m = 0; m < 4096; ++m) order.push_back(m % few.n);
  const Batch many = pick(few, order);
  for (const Variant& variant : variants()) {
    CAPTURE(variant.name);
    Call call = call_of(variant);
    const Result expected_few = run(few, call), expected_many = run(many, call);
    std::int64_t different = 0;
    for (std::int64_t m = 0; m < many.n; ++m) different += !same_result(expected_many, m, expected_few, m % few.n);
    CHECK(different == 0);
    for (const Batch* batch : {&many, &few}) {
      CAPTURE(batch->n);
      const Buffers buffers(*batch, call);
      Stream stream;
      VDN_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
      const vdn_status_t status = buffers.try_enqueue(static_cast<cudaStream_t>(stream));
      const Graph graph(stream);
      REQUIRE(status == VDN_STATUS_SUCCESS);
      graph.launch(stream);
      const Result result = buffers.collect();
      CHECK(count_different(result, batch->n == few.n ? expected_few : expected_many) == 0);
    }
  }
}

TEST_CASE("STR-25 device graphs: several calls in a row") {
  const Batch batches[] = {model_batch(quick() ? 2 : 200, 82), model_batch(quick() ? 1 : 7, 83),
                           model_batch(quick() ? 2 : 133, 84)};
  for (const Variant& variant : variants()) {
    CAPTURE(variant.name);
    for (const bool programmatic : {false, true}) {
      CAPTURE(programmatic);
      Call call = call_of(variant);
      call.programmatic = programmatic;
      const Result expected[] = {run(batches[0], call), run(batches[1], call), run(batches[2], call)};
      Buffers buffers[] = {Buffers(batches[0], call), Buffers(batches[1], call), Buffers(batches[2], call)};
      Stream stream;
      VDN_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
      int refused = 0;
      for (const Buffers& one : buffers)
        refused += one.try_enqueue(static_cast<cudaStream_t>(stream)) != VDN_STATUS_SUCCESS;
      const Graph graph(stream);
      REQUIRE(refused == 0);
      CHECK(graph.nodes() == 3);
      CHECK(graph.kernel_nodes() == 3);
      for (int round = 0; round < (quick() ? 1 : 5); ++round) {
        CAPTURE(round);
        for (Buffers& one : buffers) one.poison();
        for (int i = 0; i < (quick() ? 1 : 3); ++i) graph.launch(stream);
        for (int i = 0; i < 3; ++i) {
          CAPTURE(i);
          const Result result = buffers[i].collect();
          CHECK(count_different(result, expected[i]) == 0);
        }
      }
    }
  }
}

TEST_CASE("device graphs: a refused call leaves the capture valid") {
  const Batch batch = model_batch(2, 85);
  const Buffers buffers(batch);
  Stream stream;
  VDN_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  const vdn_status_t refused =
      vdn_delta_factors(batch.n, buffers.A().as<float>(), buffers.B().as<float>(), buffers.alpha().as<float>(),
                        buffers.A().as<float>(), buffers.J().as<float>(), nullptr, static_cast<cudaStream_t>(stream));
  const bool valid = is_capturing(stream);
  const vdn_status_t accepted = buffers.try_enqueue(static_cast<cudaStream_t>(stream));
  const Graph graph(stream);
  CHECK(refused == VDN_STATUS_OVERLAP);
  CHECK(valid);
  REQUIRE(accepted == VDN_STATUS_SUCCESS);
  CHECK(graph.nodes() == 1);
  graph.launch(stream);
  const Result result = buffers.collect(), expected = run(batch);
  CHECK(count_different(result, expected) == 0);
}

}  // namespace
}  // namespace vdn_delta::test
