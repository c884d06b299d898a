// SPDX-License-Identifier: Apache-2.0
//
// Programmatic launch (STR-21): the kernel may start while its predecessor still runs, and reads nothing before the
// predecessor has ended. The predecessor here allows the start at once, waits, and only then writes A, B and alpha:
//   - in a stream, aligned and not, with and without info;
//   - in a graph;
//   - the library's own kernel as the predecessor.
#include "call.h"

namespace vdn_delta::test {
namespace {

constexpr int kLateMicroseconds = 100;

std::int64_t some_matrices() { return quick() ? 3 : multiprocessors() + 3; }

Call programmatic_call_of(const Variant& variant) {
  Call call = call_of(variant);
  call.programmatic = true;
  return call;
}

TEST_CASE("STR-21 device programmatic: a predecessor that writes late") {
  const Batch batches[] = {model_batch(some_matrices(), 91), model_batch(some_matrices(), 92)};
  const Source sources[] = {Source(batches[0]), Source(batches[1])};
  for (const Variant& variant : variants()) {
    CAPTURE(variant.name);
    Call call = call_of(variant);
    const Result expected[] = {run(batches[0], call), run(batches[1], call)};
    for (const bool aligned : {true, false}) {
      CAPTURE(aligned);
      call = programmatic_call_of(variant);
      if (!aligned) call.offsets = {1, 2, 3, 1, 2, 3};
      Buffers buffers(batches[0], call);
      Stream stream;
      for (int round = 0; round < (quick() ? 2 : 100); ++round) {
        CAPTURE(round);
        const int turn = (round + 1) % 2;
        buffers.poison();
        buffers.expect(batches[turn]);
        VDN_CUDA(write_late(sources[turn].to(buffers, kLateMicroseconds, true), stream));
        buffers.enqueue(static_cast<cudaStream_t>(stream));
        const Result result = buffers.collect();
        CHECK(count_different(result, expected[turn]) == 0);
      }
    }
  }
}

TEST_CASE("STR-21 device programmatic: the same in a graph") {
  const Batch batches[] = {model_batch(some_matrices(), 93), model_batch(some_matrices(), 94)};
  for (const Variant& variant : variants()) {
    CAPTURE(variant.name);
    const Call call = programmatic_call_of(variant);
    const Result expected[] = {run(batches[0], call), run(batches[1], call)};
    VDN_CUDA(load_kernels());
    Source source(batches[0]);
    Buffers buffers(batches[0], call);
    Stream stream;
    VDN_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    const cudaError_t late = write_late(source.to(buffers, kLateMicroseconds, true), stream);
    const vdn_status_t status = buffers.try_enqueue(static_cast<cudaStream_t>(stream));
    const Graph graph(stream);
    VDN_CUDA(late);
    REQUIRE(status == VDN_STATUS_SUCCESS);
    CHECK(graph.kernel_nodes() == 2);
    for (int round = 0; round < (quick() ? 2 : 50); ++round) {
      CAPTURE(round);
      const int turn = (round + 1) % 2;
      buffers.poison();
      source.write(batches[turn]);
      buffers.expect(batches[turn]);
      graph.launch(stream);
      const Result result = buffers.collect();
      CHECK(count_different(result, expected[turn]) == 0);
    }
  }
}

TEST_CASE("STR-21 device programmatic: a call behind a call that makes its input") {
  // The second call's B is the first one's J, and its alpha a row of the first one's T.
  const std::int64_t n = some_matrices();
  Batch batch = model_batch(n, 95);
  for (const Variant& variant : variants()) {
    CAPTURE(variant.name);
    Call plain;
    plain.variant = variant.id;
    const Result first = run(batch, plain);
    Batch next = batch;
    next.B = first.J;
    next.alpha.assign(first.T.begin(), first.T.begin() + n * kDim);
    const Result expected = run(next, plain);

    const Buffers buffers(batch, programmatic_call_of(variant));
    const DeviceWords T(n * kMatrix), J(n * kMatrix);
    vdn_delta_options_t options = VDN_DELTA_OPTIONS_INIT;
    options.variant = variant.id;
    options.programmatic_launch = 1;
    Stream stream;
    for (int round = 0; round < (quick() ? 1 : 20); ++round) {
      CAPTURE(round);
      // The call before must not see this one's poison, nor this one the outputs of the round before.
      VDN_CUDA(cudaMemsetAsync(buffers.J().as<float>(), 0xff, static_cast<std::size_t>(n * kMatrix) * 4, stream));
      VDN_CUDA(cudaMemsetAsync(buffers.T().as<float>(), 0xff, static_cast<std::size_t>(n * kMatrix) * 4, stream));
      buffers.enqueue(static_cast<cudaStream_t>(stream));
      REQUIRE(vdn_delta_factors(n, buffers.A().as<float>(), buffers.J().as<float>(), buffers.T().as<float>(),
                                T.as<float>(), J.as<float>(), &options,
                                static_cast<cudaStream_t>(stream)) == VDN_STATUS_SUCCESS);
      finish(stream);
      Result result;
      result.T.resize(batch.A.size());
      result.J.resize(batch.A.size());
      T.download(result.T.data());
      J.download(result.J.data());
      CHECK(count_different(result, expected) == 0);
      CHECK(T.bands_intact());
      CHECK(J.bands_intact());
    }
  }
}

}  // namespace
}  // namespace vdn_delta::test
