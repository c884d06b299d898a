// SPDX-License-Identifier: Apache-2.0
//
// What must be the first thing that a process asks of the library (STR-04); meson.build runs each case in a process of
// its own:
//   - the first call inside a capture, in every mode: NOT_PREPARED, and the capture stays valid; then everything works;
//   - vdn_delta_prepare inside a capture: it works, and so does the captured call;
//   - two threads that make the first call at once;
//   - the first call of a process has the bits of a later one (NUM-14).
#include <thread>

#include "call.h"

namespace vdn_delta::test {
namespace {

constexpr cudaStreamCaptureMode kModes[] = {cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal,
                                            cudaStreamCaptureModeRelaxed};

void check_accurate(const Batch& batch, const Result& result) {
  CHECK(count_nonzero(result.info) == 0);
  const support::Errors errors = errors_of(result, reference_of(batch));
  CHECK(errors.worst_T <= 1e-5);
  CHECK(errors.worst_J <= 2e-5);
}

TEST_CASE("fresh: first call inside a capture") {
  const Batch batch = model_batch(3, 101);
  for (const bool programmatic : {false, true}) {
    CAPTURE(programmatic);
    Call call;
    call.programmatic = programmatic;
    const Buffers buffers(batch, call);
    for (const cudaStreamCaptureMode mode : kModes) {
      CAPTURE(static_cast<int>(mode));
      Stream stream;
      VDN_CUDA(cudaStreamBeginCapture(stream, mode));
      const vdn_status_t first = buffers.try_enqueue(static_cast<cudaStream_t>(stream));
      const std::string message = vdn_last_error_message();
      const cudaError_t left = cudaGetLastError();
      const bool valid = is_capturing(stream);
      const Graph graph(stream);
      CHECK(first == VDN_STATUS_NOT_PREPARED);
      CHECK(message != "");
      CHECK(left == cudaSuccess);
      CHECK(valid);
      CHECK(graph.nodes() == 0);
      CHECK(buffers.is_untouched());
    }
  }
  // A blocking stream's capture reaches the legacy stream. The runtime is asked, and answers with an error that a
  // sanitizer would count.
  if (!quick()) {
    const Buffers buffers(batch);
    Stream blocking(true);
    VDN_CUDA(cudaStreamBeginCapture(blocking, cudaStreamCaptureModeRelaxed));
    const vdn_status_t first = buffers.try_enqueue(nullptr);
    const cudaError_t left = cudaGetLastError();
    const bool valid = is_capturing(blocking);
    const Graph graph(blocking);
    CHECK(first == VDN_STATUS_NOT_PREPARED);
    CHECK(left == cudaSuccess);
    CHECK(valid);
    CHECK(buffers.is_untouched());
  }
  // The process is healthy: an eager call prepares, and then a capture works.
  const Result eager = run(batch);
  check_accurate(batch, eager);
  for (const cudaStreamCaptureMode mode : kModes) {
    CAPTURE(static_cast<int>(mode));
    const Buffers buffers(batch);
    Stream stream;
    VDN_CUDA(cudaStreamBeginCapture(stream, mode));
    const vdn_status_t status = buffers.try_enqueue(static_cast<cudaStream_t>(stream));
    const Graph graph(stream);
    REQUIRE(status == VDN_STATUS_SUCCESS);
    CHECK(graph.nodes() == 1);
    graph.launch(stream);
    const Result result = buffers.collect();
    CHECK(count_different(result, eager) == 0);
  }
}

TEST_CASE("fresh: prepare inside a capture") {
  const Batch batch = model_batch(3, 102);
  const Buffers buffers(batch);
  Stream stream;
  VDN_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  const vdn_status_t prepared = vdn_delta_prepare(-1);
  const std::string message = vdn_last_error_message();
  const bool valid = is_capturing(stream);
  const vdn_status_t status = buffers.try_enqueue(static_cast<cudaStream_t>(stream));
  const Graph graph(stream);
  CAPTURE(message);
  CHECK(prepared == VDN_STATUS_SUCCESS);
  CHECK(valid);
  REQUIRE(status == VDN_STATUS_SUCCESS);
  CHECK(graph.nodes() == 1);
  graph.launch(stream);
  check_accurate(batch, buffers.collect());
  CHECK(cudaGetLastError() == cudaSuccess);
}

TEST_CASE("fresh: two threads make the first call at once") {
  const Batch batch = model_batch(5, 103);
  const Buffers buffers[] = {Buffers(batch), Buffers(batch)};
  vdn_status_t statuses[2] = {VDN_STATUS_MAX_ENUM, VDN_STATUS_MAX_ENUM};
  {
    const Patience patience("two threads");
    std::thread other([&] { statuses[1] = buffers[1].try_enqueue(cudaStreamPerThread); });
    statuses[0] = buffers[0].try_enqueue(cudaStreamPerThread);
    other.join();
  }
  CHECK(statuses[0] == VDN_STATUS_SUCCESS);
  CHECK(statuses[1] == VDN_STATUS_SUCCESS);
  const Result one = buffers[0].collect(), two = buffers[1].collect();
  CHECK(count_different(one, two) == 0);
  check_accurate(batch, one);
}

TEST_CASE("fresh: the first call has the bits of a later one") {
  const Batch batch = model_batch(quick() ? 3 : multiprocessors() + 3, 104);
  const Result first = run(batch);
  Batch bad = batch;
  for (std::int64_t m = 0; m < bad.n; ++m) support::set_diagonal(bad.A.data() + m * kMatrix, -3.0f);
  for (float& x : bad.B) x = 1e30f;
  const Result flagged = run(bad);
  CHECK(count_nonzero(flagged.info) == bad.n);
  const Result later = run(batch);
  CHECK(count_different(first, later) == 0);
}

}  // namespace
}  // namespace vdn_delta::test
