// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime.h>

#include "kernels.h"
#include "phases/pivot.cuh"

namespace vdn_delta::test {
namespace {

constexpr int kThreads = 256;

__device__ unsigned long long nanoseconds() {
  unsigned long long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

// A turn takes 100 ns or more, so that the limit of turns is at least ten times the longest time asked for (0.2 s).
__device__ void wait(int microseconds) {
  const unsigned long long start = nanoseconds();
  for (int turn = 0; turn < 20000000; ++turn) {
    if (nanoseconds() - start >= 1000ull * static_cast<unsigned>(microseconds)) return;
    __nanosleep(200);
  }
}

__global__ void spin_kernel(int microseconds) { wait(microseconds); }

__global__ void crash_kernel() { __trap(); }

__global__ void hold_kernel(int microseconds) { wait(microseconds); }

__global__ void fill_kernel(std::uint32_t word, int words) {
  extern __shared__ std::uint32_t shared[];
  volatile std::uint32_t* out = shared;
  for (int i = threadIdx.x; i < words; i += kThreads) out[i] = word;
  __syncthreads();
  if (out[(threadIdx.x + 1) % words] != word) __trap();  // keeps the stores
}

__global__ void late_kernel(LateWrite write) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900  // before it there is no such launch, and nothing to trigger
  if (write.trigger) cudaTriggerProgrammaticLaunchCompletion();
#endif
  wait(write.microseconds);
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  for (int a = 0; a < write.count; ++a) {
    for (std::int64_t i = first; i < write.words[a]; i += stride) write.target[a][i] = write.source[a][i];
  }
}

// Unlike words[i % period], or, with period 0, unlike `word`.
__global__ void count_kernel(const std::uint32_t* words, std::int64_t count, std::int64_t period, std::uint32_t word,
                             unsigned long long* counter) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  unsigned long long found = 0;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += stride) {
    found += words[i] != (period != 0 ? words[i % period] : word);
  }
  if (found != 0) atomicAdd(counter, found);
}

__global__ void reciprocal_kernel(unsigned long long* counters) {
  const std::uint32_t mantissa = blockIdx.x * kThreads + threadIdx.x;
  unsigned wrong = 0, approximate = 0, far = 0;
  for (const int exponent : {0, 1, 12, 100}) {
    const float d = __uint_as_float(static_cast<std::uint32_t>(127 + exponent) << 23 | mantissa);
    const float exact = __frcp_rn(d);
    wrong += phases::pivot_reciprocal(d) != exact;
    const int off = __float_as_int(arch::rcp_approx_ftz(d)) - __float_as_int(exact);
    approximate += off != 0;
    far += abs(off) > 1;
  }
  if (wrong != 0) atomicAdd(counters, static_cast<unsigned long long>(wrong));
  if (approximate != 0) atomicAdd(counters + 1, static_cast<unsigned long long>(approximate));
  if (far != 0) atomicAdd(counters + 2, static_cast<unsigned long long>(far));
}

cudaError_t count(const void* words, std::int64_t n, std::int64_t period, std::uint32_t word,
                  unsigned long long* counter, cudaStream_t stream) {
  if (n == 0) return cudaSuccess;
  const std::int64_t blocks = (n + kThreads - 1) / kThreads;
  count_kernel<<<static_cast<unsigned>(blocks < 4096 ? blocks : 4096), kThreads, 0, stream>>>(
      static_cast<const std::uint32_t*>(words), n, period, word, counter);
  return cudaGetLastError();
}

// The most dynamic shared memory that a CTA of this kernel can have, which is then allowed.
cudaError_t most_shared(const void* kernel, int* bytes, int* multiprocessors) {
  int device = 0;
  cudaError_t error = cudaGetDevice(&device);
  if (error == cudaSuccess) error = cudaDeviceGetAttribute(bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
  if (error == cudaSuccess) error = cudaDeviceGetAttribute(multiprocessors, cudaDevAttrMultiProcessorCount, device);
  if (error == cudaSuccess) error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, *bytes);
  return error;
}

}  // namespace

cudaError_t load_kernels() {
  const void* kernels[] = {
      reinterpret_cast<const void*>(spin_kernel),  reinterpret_cast<const void*>(hold_kernel),
      reinterpret_cast<const void*>(fill_kernel),  reinterpret_cast<const void*>(late_kernel),
      reinterpret_cast<const void*>(count_kernel), reinterpret_cast<const void*>(reciprocal_kernel)};
  for (const void* kernel : kernels) {
    cudaFuncAttributes attributes;
    const cudaError_t error = cudaFuncGetAttributes(&attributes, kernel);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

cudaError_t spin(int microseconds, cudaStream_t stream) {
  spin_kernel<<<1, 1, 0, stream>>>(microseconds);
  return cudaGetLastError();
}

cudaError_t crash(cudaStream_t stream) {
  crash_kernel<<<1, 1, 0, stream>>>();
  return cudaGetLastError();
}

cudaError_t hold_multiprocessors(int ctas, int microseconds, cudaStream_t stream) {
  int bytes = 0, multiprocessors = 0;
  const cudaError_t error = most_shared(reinterpret_cast<const void*>(hold_kernel), &bytes, &multiprocessors);
  if (error != cudaSuccess) return error;
  hold_kernel<<<ctas, 32, bytes, stream>>>(microseconds);
  return cudaGetLastError();
}

cudaError_t fill_shared_memory(std::uint32_t word, cudaStream_t stream) {
  int bytes = 0, multiprocessors = 0;
  const cudaError_t error = most_shared(reinterpret_cast<const void*>(fill_kernel), &bytes, &multiprocessors);
  if (error != cudaSuccess) return error;
  // Twice as many as can be there at once: whichever is done first, each multiprocessor has its turn.
  fill_kernel<<<2 * multiprocessors, kThreads, bytes, stream>>>(word, bytes / 4);
  return cudaGetLastError();
}

cudaError_t write_late(const LateWrite& write, cudaStream_t stream) {
  // Few CTAs: a successor that may start early finds most multiprocessors free.
  late_kernel<<<16, 512, 0, stream>>>(write);
  return cudaGetLastError();
}

cudaError_t count_reciprocals(unsigned long long* counters, cudaStream_t stream) {
  reciprocal_kernel<<<(1u << 23) / kThreads, kThreads, 0, stream>>>(counters);
  return cudaGetLastError();
}

cudaError_t count_aperiodic(const void* words, std::int64_t n, std::int64_t period, unsigned long long* counter,
                            cudaStream_t stream) {
  return count(words, n, period, 0, counter, stream);
}

cudaError_t count_unlike(const void* words, std::int64_t n, std::uint32_t word, unsigned long long* counter,
                         cudaStream_t stream) {
  return count(words, n, 0, word, counter, stream);
}

}  // namespace vdn_delta::test
