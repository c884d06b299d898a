// SPDX-License-Identifier: Apache-2.0
//
// The call in its stream:
//   - ordered behind slow work that writes its inputs, and before what reads its outputs (STR-01, STR-02);
//   - NULL, cudaStreamLegacy and cudaStreamPerThread, each meaning what it says (STR-17, STR-18);
//   - it returns before it has run (STR-22);
//   - two host threads at once (STR-10); other work that keeps multiprocessors busy (ARC-16).
#include <chrono>
#include <thread>

#include "call.h"

namespace vdn_delta::test {
namespace {

std::int64_t some_matrices() { return quick() ? 3 : multiprocessors() + 3; }

// Two batches by turns, so that what is left of one cannot pass for the other.
struct Turns {
  Turns(std::int64_t n, std::uint64_t seed, const Call& call)
      : batches{model_batch(n, seed), model_batch(n, seed + 1)},
        sources{Source(batches[0]), Source(batches[1])},
        expected{run(batches[0], call), run(batches[1], call)} {}
  const Batch batches[2];
  const Source sources[2];
  const Result expected[2];
};

TEST_CASE("STR-01, STR-02 device streams: behind what writes its inputs, before what reads its outputs") {
  for (const Variant& variant : variants()) {
    CAPTURE(variant.name);
    const Call call = call_of(variant);
    const Turns turns(some_matrices(), 61, call);
    Buffers buffers(turns.batches[0], call);
    const DeviceWords T(buffers.T().count()), J(buffers.J().count());
    Stream stream;
    for (int round = 0; round < (quick() ? 2 : 50); ++round) {
      CAPTURE(round);
      const int turn = (round + 1) % 2;  // the first one is not what the buffers hold
      buffers.poison();
      buffers.expect(turns.batches[turn]);
      VDN_CUDA(write_late(turns.sources[turn].to(buffers, 300, false), stream));
      buffers.enqueue(static_cast<cudaStream_t>(stream));
      const LateWrite keep = {{buffers.T().as<std::uint32_t>(), buffers.J().as<std::uint32_t>(), nullptr},
                              {T.as<std::uint32_t>(), J.as<std::uint32_t>(), nullptr},
                              {T.count(), J.count(), 0},
                              2,
                              0,
                              false};
      VDN_CUDA(write_late(keep, stream));
      finish(stream);
      const Result result = buffers.collect();
      CHECK(count_different(result, turns.expected[turn]) == 0);
      Result kept;
      kept.T.resize(result.T.size());
      kept.J.resize(result.J.size());
      T.download(kept.T.data());
      J.download(kept.J.data());
      CHECK(count_different(kept, turns.expected[turn]) == 0);
    }
  }
}

// The predecessor runs in `before`, the call gets `handle`.
void check_ordered(const Turns& turns, const Call& call, cudaStream_t before, void* handle, const std::string& what) {
  CAPTURE(what);
  for (int round = 0; round < (quick() ? 1 : 4); ++round) {
    CAPTURE(round);
    const int turn = (round + 1) % 2;
    Buffers buffers(turns.batches[1 - turn], call);
    buffers.expect(turns.batches[turn]);
    VDN_CUDA(write_late(turns.sources[turn].to(buffers, 5000, false), before));
    buffers.enqueue(handle);
    const Result result = buffers.collect();
    CHECK(count_different(result, turns.expected[turn]) == 0);
  }
}

TEST_CASE("STR-17, STR-18 device streams: the special handles") {
  for (const Variant& variant : variants()) {
    CAPTURE(variant.name);
    const Call call = call_of(variant);
    const Turns turns(some_matrices(), 63, call);
    const auto legacy = reinterpret_cast<void*>(std::uintptr_t{1});
    const auto per_thread = reinterpret_cast<void*>(std::uintptr_t{2});
    REQUIRE(legacy == static_cast<void*>(cudaStreamLegacy));
    REQUIRE(per_thread == static_cast<void*>(cudaStreamPerThread));
    Stream blocking(true);
    check_ordered(turns, call, cudaStreamLegacy, legacy, "legacy behind legacy");
    check_ordered(turns, call, cudaStreamLegacy, nullptr, "NULL behind legacy");
    check_ordered(turns, call, cudaStreamPerThread, per_thread, "per-thread behind per-thread");
    // Only the legacy stream waits for other blocking streams, and they for it.
    check_ordered(turns, call, blocking, nullptr, "NULL behind a blocking stream");
    check_ordered(turns, call, blocking, legacy, "legacy behind a blocking stream");
    check_ordered(turns, call, cudaStreamLegacy, static_cast<cudaStream_t>(blocking),
                  "a blocking stream behind legacy");
    check_ordered(turns, call, cudaStreamLegacy, per_thread, "per-thread behind legacy");
  }
}

TEST_CASE("STR-22 device streams: the call returns before it has run") {
  if (quick()) return;  // nothing returns soon under a sanitizer
  const Batch batch = model_batch(some_matrices(), 65);
  for (const Variant& variant : variants()) {
    CAPTURE(variant.name);
    const Result expected = run(batch, call_of(variant));
    double shortest_ms = 1e9;
    for (int round = 0; round < 3; ++round) {  // the host may be busy now and then
      const Buffers buffers(batch, call_of(variant));
      Stream stream;
      VDN_CUDA(spin(100000, stream));
      const auto start = std::chrono::steady_clock::now();
      buffers.enqueue(static_cast<cudaStream_t>(stream));
      const std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - start;
      shortest_ms = std::min(shortest_ms, spent.count());
      const Result result = buffers.collect();
      CHECK(count_different(result, expected) == 0);
    }
    CHECK(shortest_ms < 20.0);
  }
}

TEST_CASE("STR-10 device streams: two host threads at once") {
  const Batch batches[] = {model_batch(quick() ? 2 : 5, 66), model_batch(quick() ? 3 : 2 * multiprocessors() + 1, 67)};
  for (const Variant& variant : variants()) {
    CAPTURE(variant.name);
    const Call call = call_of(variant);
    const Result expected[] = {run(batches[0], call), run(batches[1], call)};
    for (int round = 0; round < (quick() ? 1 : 5); ++round) {
      CAPTURE(round);
      Buffers buffers[] = {Buffers(batches[0], call), Buffers(batches[1], call)};
      int failures[2] = {0, 0};
      const auto work = [&](int who) {  // no check in here: doctest's exceptions may not leave a thread
        cudaStream_t stream = nullptr;
        failures[who] += cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) != cudaSuccess;
        for (int i = 0; i < (quick() ? 2 : 200); ++i)
          failures[who] += buffers[who].try_enqueue(stream) != VDN_STATUS_SUCCESS;
        failures[who] += cudaStreamSynchronize(stream) != cudaSuccess;
        failures[who] += cudaStreamDestroy(stream) != cudaSuccess;
        failures[who] += cudaGetLastError() != cudaSuccess;
      };
      {
        const Patience patience("two threads");
        std::thread other(work, 1);
        work(0);
        other.join();
      }
      for (const int who : {0, 1}) {
        CAPTURE(who);
        CHECK(failures[who] == 0);
        const Result result = buffers[who].collect();
        CHECK(count_different(result, expected[who]) == 0);
      }
    }
  }
}

TEST_CASE("ARC-16 device streams: beside work that keeps multiprocessors busy") {
  if (quick()) return;
  const Batch batch = model_batch(3 * multiprocessors() + 1, 68);
  for (const Variant& variant : variants()) {
    CAPTURE(variant.name);
    const Call call = call_of(variant);
    const Result expected = run(batch, call);
    for (const int held : {1, 16, 100, multiprocessors() - 1}) {
      CAPTURE(held);
      const Buffers one(batch, call), two(batch, call);
      Stream busy, first, second;
      VDN_CUDA(hold_multiprocessors(held, 50000, busy));
      one.enqueue(static_cast<cudaStream_t>(first));
      two.enqueue(static_cast<cudaStream_t>(second));
      const Result result_one = one.collect(), result_two = two.collect();
      CHECK(count_different(result_one, expected) == 0);
      CHECK(count_different(result_two, expected) == 0);
    }
  }
}

}  // namespace
}  // namespace vdn_delta::test
