// SPDX-License-Identifier: Apache-2.0
#include "gpu_timing.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <vector>

namespace vdn_delta::bench {
namespace {

constexpr int kDefaultSamples = 30;
// A sample spans at least this long, so that the events' resolution and the first launch's latency vanish in it.
constexpr double kLeastSampleMs = 4.0;
// Clocks and caches settle before the first sample.
constexpr double kWarmUpMs = 150.0;
// graph-cold: this many times the L2 cache passes between two uses of a buffer.
constexpr double kColdFactor = 2.0;

class Stream {
 public:
  Stream() { check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate"); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() { cudaStreamDestroy(stream_); }
  operator cudaStream_t() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

class Timer {
 public:
  Timer() {
    check(cudaEventCreate(&start_), "cudaEventCreate");
    check(cudaEventCreate(&stop_), "cudaEventCreate");
  }
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;
  ~Timer() {
    cudaEventDestroy(start_);
    cudaEventDestroy(stop_);
  }
  // Milliseconds that the work enqueued by `work` took on the stream.
  double ms(cudaStream_t stream, const std::function<void()>& work) {
    check(cudaEventRecord(start_, stream), "cudaEventRecord");
    work();
    check(cudaEventRecord(stop_, stream), "cudaEventRecord");
    check(cudaEventSynchronize(stop_), "cudaEventSynchronize");
    float elapsed = 0;
    check(cudaEventElapsedTime(&elapsed, start_, stop_), "cudaEventElapsedTime");
    return elapsed;
  }

 private:
  cudaEvent_t start_ = nullptr, stop_ = nullptr;
};

class Graph {
 public:
  // Captures `calls` calls, call c on buffer set c % sets.
  Graph(const std::vector<DeviceBatch>& sets, int calls, const Enqueue& enqueue) {
    Stream stream;
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
    cudaGraph_t graph = nullptr;
    try {
      for (int call = 0; call < calls; ++call) enqueue(sets[static_cast<std::size_t>(call) % sets.size()], stream);
    } catch (...) {
      cudaStreamEndCapture(stream, &graph);
      cudaGraphDestroy(graph);
      cudaGetLastError();
      throw;
    }
    check(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
    const cudaError_t error = cudaGraphInstantiate(&executable_, graph, 0);
    cudaGraphDestroy(graph);
    check(error, "cudaGraphInstantiate");
  }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  ~Graph() { cudaGraphExecDestroy(executable_); }
  void launch(cudaStream_t stream) const { check(cudaGraphLaunch(executable_, stream), "cudaGraphLaunch"); }

 private:
  cudaGraphExec_t executable_ = nullptr;
};

int cold_sets(std::int64_t n) {
  int device = 0, l2_bytes = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  check(cudaDeviceGetAttribute(&l2_bytes, cudaDevAttrL2CacheSize, device), "L2 size");
  const double ratio = kColdFactor * l2_bytes / static_cast<double>(DeviceBatch::bytes(n));
  return 1 + std::max(1, static_cast<int>(std::ceil(ratio)));
}

// Microseconds per call, one figure per sample; `round` enqueues `calls` calls.
std::vector<double> sample(cudaStream_t stream, int calls, int samples, const std::function<void()>& round) {
  Timer timer;
  timer.ms(stream, round);
  const double one = timer.ms(stream, round);
  const int rounds = std::max(1, static_cast<int>(std::ceil(kLeastSampleMs / one)));
  const auto repeat = [&] {
    for (int r = 0; r < rounds; ++r) round();
  };
  for (double warm = 0; warm < kWarmUpMs;) warm += timer.ms(stream, repeat);
  std::vector<double> us;
  for (int s = 0; s < samples; ++s) us.push_back(1e3 * timer.ms(stream, repeat) / (rounds * calls));
  return us;
}

}  // namespace

bool can_be_captured(const DeviceBatch& buffers, const Enqueue& enqueue) {
  Stream stream;
  if (cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal) != cudaSuccess) return false;
  bool accepted = true;
  try {
    enqueue(buffers, stream);
  } catch (const std::exception&) {
    accepted = false;
  }
  cudaGraph_t graph = nullptr;
  accepted = cudaStreamEndCapture(stream, &graph) == cudaSuccess && accepted;
  cudaGraphDestroy(graph);
  cudaGetLastError();
  return accepted;
}

TimingRow time_on_gpu(const std::string& name, const support::Batch& batch, const std::string& mode, int samples,
                      const Enqueue& enqueue) {
  if (samples == 0) samples = kDefaultSamples;
  const int set_count = mode == "graph-cold" ? cold_sets(batch.n) : 1;
  std::vector<DeviceBatch> sets;
  for (int s = 0; s < set_count; ++s) sets.emplace_back(batch);

  Stream stream;
  enqueue(sets[0], stream);
  check(cudaStreamSynchronize(stream), "the first call");

  if (mode == "stream") {
    const auto loop = [&] {
      for (int call = 0; call < kCallsPerGraph; ++call) enqueue(sets[0], stream);
    };
    return timing_row(batch.n, name, mode, sample(stream, kCallsPerGraph, samples, loop));
  }
  // Whole rotations, so that every replay starts where the last one ended.
  const int calls = (kCallsPerGraph + set_count - 1) / set_count * set_count;
  const Graph graph(sets, calls, enqueue);
  return timing_row(batch.n, name, mode, sample(stream, calls, samples, [&] { graph.launch(stream); }));
}

}  // namespace vdn_delta::bench
