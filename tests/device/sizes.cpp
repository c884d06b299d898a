// SPDX-License-Identifier: Apache-2.0
//
// Sizes: where one wave ends and the next begins, for every variant, by what this device holds (SHP-14, ARC-09); the
// sizes of MEM-14; a launch that fails says so (SHP-04, STR-13); many calls in a row (SHP-16); no cliff of the time per
// matrix (SHP-17).
#include <algorithm>
#include <chrono>
#include <set>

#include "periodic.h"

namespace vdn_delta::test {
namespace {

// What every variant must give for the period.
Result expected_of(const Batch& period) {
  const Result result = run(period, call_of(variants().front()));
  REQUIRE(count_nonzero(result.info) == 1);
  return result;
}

TEST_CASE("SHP-14, ARC-09 device sizes: around every wave of every variant, all with the same bits") {
  const Batch period = period_batch(151);
  const Result expected = expected_of(period);
  std::set<std::int64_t> sizes = {1, 2, 3, 200};
  for (const Variant& variant : variants()) {
    const std::int64_t units = resident_units(variant);
    for (std::int64_t wave = 1; wave <= (quick() ? 1 : 4); ++wave) {
      sizes.insert({wave * units, wave * units + 1});
      if (wave * units > 1) sizes.insert(wave * units - 1);
    }
  }
  Periodic arrays(period, *sizes.rbegin() + 1);
  for (const Variant& variant : variants()) {
    CAPTURE(variant.name);
    if (quick()) sizes = {1, resident_units(variant) + 1};  // the first one of a second wave
    for (const std::int64_t n : sizes) {
      CAPTURE(n);
      for (const bool with_info : {true, false}) {
        if (quick() && !with_info) continue;
        CAPTURE(with_info);
        Call call = call_of(variant);
        call.with_info = with_info;
        arrays.poison();
        arrays.enqueue(n, call, nullptr);
        CHECK(arrays.count_wrong(n, expected, with_info) == 0);
      }
    }
  }
  // And by AUTO, whatever it takes.
  for (const std::int64_t n : sizes) {
    CAPTURE(n);
    arrays.poison();
    arrays.enqueue(n, {}, nullptr);
    CHECK(arrays.count_wrong(n, expected) == 0);
  }
}

TEST_CASE("MEM-14 device sizes: 16, 20, 32, 1000, 50000 matrices") {
  if (quick()) return;
  std::vector<std::int64_t> sizes = {16, 20, 32, 1000, 50000};
  while (!Periodic::fits(sizes.back())) sizes.pop_back();
  const Batch period = period_batch(152);
  const Result expected = expected_of(period);
  Periodic arrays(period, sizes.back() + 1);
  for (const Variant& variant : variants()) {
    CAPTURE(variant.name);
    for (const std::int64_t n : sizes) {
      CAPTURE(n);
      arrays.poison();
      arrays.enqueue(n, call_of(variant), nullptr);
      CHECK(arrays.count_wrong(n, expected) == 0);
    }
  }
}

TEST_CASE("SHP-04, STR-13 device sizes: a launch that fails says so, and leaves the outputs alone") {
  if (quick()) return;  // a sanitizer counts what the runtime answers
  const Batch period = period_batch(153);
  const Result expected = expected_of(period);
  Periodic arrays(period, period.n);
  for (const Variant& variant : variants()) {
    CAPTURE(variant.name);
    const Call call = call_of(variant);
    arrays.poison();
    // No CTA: the kernel's own door passes the runtime's answer on.
    CHECK(arrays.launch(period.n, row_of(variant), 0, nullptr) != cudaSuccess);
    cudaGetLastError();
    CHECK(arrays.count_wrong(0, expected, false) == 0);
    // The legacy stream cannot be used while a blocking stream is captured.
    Stream blocking(true);
    VDN_CUDA(cudaStreamBeginCapture(blocking, cudaStreamCaptureModeRelaxed));
    const vdn_status_t status = arrays.try_enqueue(period.n, call, nullptr);
    const std::string message = vdn_last_error_message();
    const cudaError_t left = cudaGetLastError();
    cudaGraph_t graph = nullptr;
    cudaStreamEndCapture(blocking, &graph);
    if (graph != nullptr) cudaGraphDestroy(graph);
    cudaGetLastError();
    CHECK(status == VDN_STATUS_CUDA_ERROR);
    CAPTURE(message);
    CHECK(message.find("cudaError") != std::string::npos);  // the cause, in CUDA's own words
    CHECK(left == cudaSuccess);
    CHECK(arrays.count_wrong(0, expected, false) == 0);
    // And everything works again.
    arrays.enqueue(period.n, call, nullptr);
    CHECK(arrays.count_wrong(period.n, expected) == 0);
  }
}

TEST_CASE("SHP-16 device sizes: 400 calls in a row are 400 kernels, and the host never waits") {
  if (quick()) return;  // nothing is fast under a sanitizer
  constexpr int kCalls = 400;
  const Batch period = period_batch(154);
  const Result expected = expected_of(period);
  Periodic arrays(period, multiprocessors());
  for (const Variant& variant : variants()) {
    CAPTURE(variant.name);
    const Call call = call_of(variant);
    for (const std::int64_t n : {std::int64_t{1}, std::int64_t{8}, std::int64_t{multiprocessors()}}) {
      CAPTURE(n);
      double shortest_ms = 1e9;
      for (int round = 0; round < 3; ++round) {  // the host may be busy now and then
        arrays.poison();
        Stream stream;
        VDN_CUDA(spin(100000, stream));
        const auto start = std::chrono::steady_clock::now();
        int refused = 0;
        for (int i = 0; i < kCalls; ++i)
          refused += arrays.try_enqueue(n, call, static_cast<cudaStream_t>(stream)) != VDN_STATUS_SUCCESS;
        const std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - start;
        shortest_ms = std::min(shortest_ms, spent.count());
        REQUIRE(refused == 0);
        CHECK(arrays.count_wrong(n, expected) == 0);
      }
      // Far less than the 100 ms that the stream is held up, which a call that waits would wait for.
      CHECK(shortest_ms < 50.0);
    }
    Stream stream;
    VDN_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    int refused = 0;
    for (int i = 0; i < kCalls; ++i)
      refused += arrays.try_enqueue(8, call, static_cast<cudaStream_t>(stream)) != VDN_STATUS_SUCCESS;
    const Graph graph(stream);
    CHECK(refused == 0);
    CHECK(graph.nodes() == kCalls);
    CHECK(graph.kernel_nodes() == kCalls);
  }
}

// Microseconds of one call: the shortest of several times of eight calls, by the GPU's own clock.
double time_of(const Periodic& arrays, std::int64_t n, const Call& call) {
  constexpr int kCalls = 8;
  Stream stream;
  cudaEvent_t begin = nullptr, end = nullptr;
  VDN_CUDA(cudaEventCreate(&begin));
  VDN_CUDA(cudaEventCreate(&end));
  float shortest = 1e9f;
  for (int round = 0; round < 7; ++round) {
    VDN_CUDA(spin(200, stream));  // so that the calls are all there when the first one starts
    VDN_CUDA(cudaEventRecord(begin, stream));
    for (int i = 0; i < kCalls; ++i) arrays.enqueue(n, call, static_cast<cudaStream_t>(stream));
    VDN_CUDA(cudaEventRecord(end, stream));
    finish(stream);
    float ms = 0;
    VDN_CUDA(cudaEventElapsedTime(&ms, begin, end));
    shortest = std::min(shortest, ms);
  }
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  return 1000.0 * static_cast<double>(shortest) / kCalls;
}

TEST_CASE("SHP-17 device sizes: no cliff of the time per matrix") {
  if (quick()) return;
  const std::vector<std::int64_t> large = {1000, 10000};
  const Batch period = period_batch(155);
  Periodic arrays(period, large.back());
  std::vector<Call> calls;
  for (const Variant& variant : variants()) calls.push_back(call_of(variant));
  calls.push_back({});  // AUTO
  const std::vector<Variant> held = variants();
  for (std::size_t c = 0; c < calls.size(); ++c) {
    const std::string name = c < held.size() ? held[c].name : "auto";
    CAPTURE(name);
    // For AUTO the largest wave of all.
    std::int64_t units = 0;
    for (const Variant& variant : held)
      if (c >= held.size() || variant.id == calls[c].variant) units = std::max(units, resident_units(variant));
    CAPTURE(units);
    time_of(arrays, units, calls[c]);  // the clock comes up
    const double one = time_of(arrays, units, calls[c]), per_matrix = one / static_cast<double>(units);
    const double fewest = time_of(arrays, 1, calls[c]), beyond = time_of(arrays, units + 1, calls[c]);
    CAPTURE(one);
    CAPTURE(fewest);
    CAPTURE(beyond);
    CHECK(fewest <= 1.1 * one);
    CHECK(beyond <= 2.2 * one);  // one matrix more is one wave more
    for (const std::int64_t n : {2 * units, 3 * units, large[0], large[1]}) {
      CAPTURE(n);
      // Whole waves, rounded up, may cost a quarter more than the first one: memory beyond the cache.
      const double waves = static_cast<double>((n + units - 1) / units);
      const double time = time_of(arrays, n, calls[c]);
      CAPTURE(time);
      CHECK(time <= 1.25 * waves * one);
      CHECK(time / static_cast<double>(n) <= 1.6 * per_matrix);
    }
  }
}

}  // namespace
}  // namespace vdn_delta::test
