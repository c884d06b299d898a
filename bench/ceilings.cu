// SPDX-License-Identifier: Apache-2.0
//
// What this GPU reaches at most, by two small kernels in the same run: fp32 FMA from registers, and a plain copy.
#include "gpu.h"
#include "gpu_memory.h"
#include "stats.h"

namespace vdn_delta::bench {
namespace {

constexpr int kChains = 16;  // independent FMA chains per thread: more than latency x issue rate needs
constexpr int kIterations = 2000;
constexpr int kUnroll = 8;
constexpr int kThreads = 256;
constexpr int kBlocksPerSm = 4;  // 32 warps per SM

struct Clock {
  long long cycles, nanoseconds;
};

__device__ long long global_timer() {
  long long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

__global__ void __launch_bounds__(kThreads) fma_kernel(float scale, float step, float* sink, Clock* clock) {
  const long long cycles = clock64(), nanoseconds = global_timer();
  float chain[kChains];
#pragma unroll
  for (int c = 0; c < kChains; ++c) chain[c] = static_cast<float>(threadIdx.x + c);
#pragma unroll 1
  for (int i = 0; i < kIterations; ++i) {
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
#pragma unroll
      for (int c = 0; c < kChains; ++c) chain[c] = fmaf(chain[c], scale, step);
    }
  }
  float sum = 0;
#pragma unroll
  for (int c = 0; c < kChains; ++c) sum += chain[c];
  if (sum == 12345.678f) *sink = sum;  // never, but the compiler cannot know
  if (blockIdx.x == 0 && threadIdx.x == 0) *clock = {clock64() - cycles, global_timer() - nanoseconds};
}

__global__ void __launch_bounds__(kThreads) copy_kernel(const float4* from, float4* to, std::size_t count) {
  const std::size_t stride = static_cast<std::size_t>(gridDim.x) * kThreads;
  for (std::size_t at = static_cast<std::size_t>(blockIdx.x) * kThreads + threadIdx.x; at < count; at += stride) {
    to[at] = from[at];
  }
}

// Median milliseconds of `launch` after warm-up.
template <class Launch>
double median_ms(const Launch& launch) {
  constexpr int kWarmUp = 300, kSamples = 15;  // some 0.3 s: the clock settles
  cudaEvent_t start, stop;
  check(cudaEventCreate(&start), "cudaEventCreate");
  check(cudaEventCreate(&stop), "cudaEventCreate");
  for (int i = 0; i < kWarmUp; ++i) launch();
  std::vector<double> ms;
  for (int i = 0; i < kSamples; ++i) {
    check(cudaEventRecord(start), "cudaEventRecord");
    launch();
    check(cudaEventRecord(stop), "cudaEventRecord");
    check(cudaEventSynchronize(stop), "ceiling kernel");
    float one = 0;
    check(cudaEventElapsedTime(&one, start, stop), "cudaEventElapsedTime");
    ms.push_back(one);
  }
  cudaEventDestroy(start);
  cudaEventDestroy(stop);
  return quantile(ms, 0.5);
}

}  // namespace

Ceilings measure_ceilings() {
  int device = 0, multiprocessors = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device), "multiprocessors");

  Ceilings ceilings;
  DeviceArray<float> sink(1);
  DeviceArray<Clock> clock(1);
  const int blocks = multiprocessors * kBlocksPerSm;
  // |scale| < 1 keeps the chains finite; the values keep changing, as real data would.
  const double fma_ms = median_ms([&] { fma_kernel<<<blocks, kThreads>>>(-0.9997f, 0.37f, sink.get(), clock.get()); });
  check(cudaGetLastError(), "FMA ceiling");
  const double flop = 2.0 * kChains * kUnroll * kIterations * kThreads * blocks;
  ceilings.ffma_tflops = flop / fma_ms * 1e-9;
  Clock stamp{};
  clock.download(&stamp);
  if (stamp.nanoseconds > 0) ceilings.clock_mhz = 1e3 * static_cast<double>(stamp.cycles) / stamp.nanoseconds;

  constexpr std::size_t kCopyBytes = std::size_t{512} << 20;
  DeviceArray<float4> from(kCopyBytes / sizeof(float4)), to(kCopyBytes / sizeof(float4));
  check(cudaMemset(from.get(), 0x11, kCopyBytes), "cudaMemset");
  const int copy_blocks = multiprocessors * 8;
  const double copy_ms = median_ms([&] { copy_kernel<<<copy_blocks, kThreads>>>(from.get(), to.get(), from.size()); });
  check(cudaGetLastError(), "copy ceiling");
  ceilings.copy_gbs = 2.0 * kCopyBytes / copy_ms * 1e-6;
  return ceilings;
}

}  // namespace vdn_delta::bench
