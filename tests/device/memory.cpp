// SPDX-License-Identifier: Apache-2.0
//
// Memory: every combination of 4-byte offsets of A, B, T and J inside one poisoned block (MEM-01, MEM-02, MEM-03);
// overlap refused to the byte, neighbours accepted (MEM-10); memory full to the last page (MEM-12); buffers that are
// freed and filled with NaN right behind the call (MEM-05); tight allocations (ARC-15).
#include <algorithm>

#include "periodic.h"

namespace vdn_delta::test {
namespace {

TEST_CASE("MEM-01, MEM-02, MEM-03 device memory: all 4-byte offsets of all arrays together") {
  constexpr std::int64_t n = 2, kGap = 64;  // words between the arrays, besides their offsets
  Batch batch = model_batch(n, 161);
  support::break_pivot(batch.A.data() + kMatrix, 128);
  const Result expected = run(batch, call_of(variants().front()));
  const std::int64_t sizes[] = {n * kMatrix, n * kMatrix, n * kDim, n * kMatrix, n * kMatrix, n};
  std::int64_t total = kGap;
  for (const std::int64_t size : sizes) total += size + 2 * kGap;
  DeviceWords block(total);
  std::vector<std::uint32_t> image(static_cast<std::size_t>(total)), after(image.size());
  for (const Variant& variant : variants()) {
    CAPTURE(variant.name);
    for (int code = 0; code < 256; ++code) {
      if (quick() && code != 0 && code != 0x1b) continue;
      const int a = code & 3, b = code >> 2 & 3, t = code >> 4 & 3, j = code >> 6 & 3;
      // alpha and info take all four offsets as well, in another order.
      const int offsets[] = {a, b, (a + b + t) & 3, t, j, (b + t + j + 1) & 3};
      CAPTURE(code);
      std::int64_t places[6], next = kGap;
      for (int i = 0; i < 6; ++i) {
        places[i] = next + offsets[i];
        next = (places[i] + sizes[i] + kGap) / 64 * 64;  // at least one word of poison in between
      }
      std::fill(image.begin(), image.end(), DeviceWords::kPoison);
      const auto put = [&](int i, const void* values) {
        std::copy_n(static_cast<const std::uint32_t*>(values), sizes[i], image.begin() + places[i]);
      };
      put(0, batch.A.data());
      put(1, batch.B.data());
      put(2, batch.alpha.data());
      block.upload(image.data());
      const auto at = [&](int i) { return block.as<float>() + places[i]; };
      vdn_delta_options_t options = VDN_DELTA_OPTIONS_INIT;
      options.variant = variant.id;
      options.info = block.as<std::int32_t>() + places[5];
      REQUIRE(vdn_delta_factors(n, at(0), at(1), at(2), at(3), at(4), &options, nullptr) == VDN_STATUS_SUCCESS);
      finish_all();
      // The whole block is what it was, but for the outputs.
      put(3, expected.T.data());
      put(4, expected.J.data());
      put(5, expected.info.data());
      block.download(after.data());
      const bool same = after == image;
      CHECK(same);
      CHECK(block.bands_intact());
    }
  }
}

TEST_CASE("MEM-10 device memory: overlap in one word is refused, neighbours are not") {
  const Batch batch = model_batch(2, 162);
  constexpr std::int64_t n = 2;
  const std::int64_t sizes[] = {n * kMatrix, n * kMatrix, n * kDim, n * kMatrix, n * kMatrix, n};
  const char* names[] = {"A", "B", "alpha", "T", "J", "info"};
  // Room for every array by itself, far from the others.
  constexpr std::int64_t kRoom = 4 * n * kMatrix;
  DeviceWords block(6 * kRoom);
  for (const Variant& variant : variants()) {
    CAPTURE(variant.name);
    for (int output = 3; output < 6; ++output) {
      for (int other = 0; other < 6; ++other) {
        if (other == output) continue;
        const std::string pair = std::string(names[output]) + " and " + names[other];
        CAPTURE(pair);
        // The output begins at these words of the other array, or ends there.
        const std::int64_t mine = sizes[output], theirs = sizes[other];
        const struct {
          std::int64_t shift;
          bool overlaps;
        } places[] = {{-mine, false}, {1 - mine, true}, {0, true}, {theirs - 1, true}, {theirs, false}};
        for (const auto& place : places) {
          if (quick() && !place.overlaps) continue;
          CAPTURE(place.shift);
          if (!quick()) block.poison();
          float* arrays[6];
          for (int i = 0; i < 6; ++i) arrays[i] = block.as<float>() + i * kRoom + n * kMatrix;
          arrays[output] = arrays[other] + place.shift;
          if (!quick()) {
            VDN_CUDA(cudaMemcpy(arrays[0], batch.A.data(), batch.A.size() * 4, cudaMemcpyHostToDevice));
            VDN_CUDA(cudaMemcpy(arrays[1], batch.B.data(), batch.B.size() * 4, cudaMemcpyHostToDevice));
            VDN_CUDA(cudaMemcpy(arrays[2], batch.alpha.data(), batch.alpha.size() * 4, cudaMemcpyHostToDevice));
          }
          finish_all();
          vdn_delta_options_t options = VDN_DELTA_OPTIONS_INIT;
          options.variant = variant.id;
          options.info = reinterpret_cast<std::int32_t*>(arrays[5]);
          const vdn_status_t status =
              vdn_delta_factors(n, arrays[0], arrays[1], arrays[2], arrays[3], arrays[4], &options, nullptr);
          finish_all();
          CHECK(status == (place.overlaps ? VDN_STATUS_OVERLAP : VDN_STATUS_SUCCESS));
        }
      }
    }
  }
}

// Everything that cudaMalloc still gives, down to `smallest` bytes.
class AllMemory {
 public:
  explicit AllMemory(std::size_t smallest) {
    for (std::size_t bytes = std::size_t{1} << 37; bytes >= smallest; bytes /= 2) {
      void* memory = nullptr;
      while (cudaMalloc(&memory, bytes) == cudaSuccess) blocks_.push_back(memory);
      cudaGetLastError();
    }
  }
  ~AllMemory() {
    for (void* block : blocks_) cudaFree(block);
  }
  AllMemory(const AllMemory&) = delete;
  AllMemory& operator=(const AllMemory&) = delete;
  std::size_t blocks() const { return blocks_.size(); }

 private:
  std::vector<void*> blocks_;
};

TEST_CASE("MEM-12 device memory: with no memory left, and none is taken") {
  if (quick()) return;  // a sanitizer counts refused allocations as errors
  const Batch period = period_batch(163);
  const Result expected = run(period, call_of(variants().front()));
  const std::int64_t n = 1000;
  Periodic arrays(period, n);
  Stream stream;
  std::size_t before = 0, after = 0, total = 0;
  REQUIRE(vdn_delta_prepare(-1) == VDN_STATUS_SUCCESS);
  {
    const AllMemory all(4096);
    CHECK(all.blocks() > 0);
    VDN_CUDA(cudaMemGetInfo(&before, &total));
    CAPTURE(before);
    CHECK(before < (std::size_t{64} << 20));
    for (const Variant& variant : variants()) {
      CAPTURE(variant.name);
      for (const std::int64_t count : {std::int64_t{1}, std::int64_t{multiprocessors() + 1}, n}) {
        CAPTURE(count);
        VDN_CUDA(cudaMemset(arrays.T().as<float>(), 0xff, static_cast<std::size_t>(arrays.T().count()) * 4));
        VDN_CUDA(cudaMemset(arrays.J().as<float>(), 0xff, static_cast<std::size_t>(arrays.J().count()) * 4));
        VDN_CUDA(cudaMemset(arrays.info().as<float>(), 0xff, static_cast<std::size_t>(arrays.info().count()) * 4));
        finish_all();
        for (const bool programmatic : {false, true}) {
          Call call = call_of(variant);
          call.programmatic = programmatic;
          arrays.enqueue(count, call, static_cast<cudaStream_t>(stream));
        }
        CHECK(arrays.count_wrong(count, expected) == 0);
      }
      CHECK(vdn_delta_prepare(-1) == VDN_STATUS_SUCCESS);
    }
    VDN_CUDA(cudaMemGetInfo(&after, &total));
    CHECK(after == before);
  }
  CHECK(cudaGetLastError() == cudaSuccess);
}

TEST_CASE("MEM-05 device memory: inputs freed and overwritten in stream order right behind the call") {
  const std::int64_t n = quick() ? 8 : 512;
  const Batch period = period_batch(164);
  const Result expected = run(period, call_of(variants().front()));
  Periodic arrays(period, n);
  const std::size_t bytes = static_cast<std::size_t>(n * kMatrix) * 4;
  int device = 0, pools = 0;
  VDN_CUDA(cudaGetDevice(&device));
  VDN_CUDA(cudaDeviceGetAttribute(&pools, cudaDevAttrMemoryPoolsSupported, device));
  if (pools == 0) {
    MESSAGE("no memory pools here");
    return;
  }
  for (const Variant& variant : variants()) {
    CAPTURE(variant.name);
    arrays.poison();
    Stream stream;
    vdn_delta_options_t options = VDN_DELTA_OPTIONS_INIT;
    options.variant = variant.id;
    options.info = arrays.info().as<std::int32_t>();
    for (int round = 0; round < (quick() ? 2 : 100); ++round) {
      CAPTURE(round);
      void *A = nullptr, *B = nullptr, *again[2] = {nullptr, nullptr};
      VDN_CUDA(cudaMallocAsync(&A, bytes, stream));
      VDN_CUDA(cudaMallocAsync(&B, bytes, stream));
      VDN_CUDA(cudaMemcpyAsync(A, arrays.A().as<float>(), bytes, cudaMemcpyDeviceToDevice, stream));
      VDN_CUDA(cudaMemcpyAsync(B, arrays.B().as<float>(), bytes, cudaMemcpyDeviceToDevice, stream));
      REQUIRE(vdn_delta_factors(n, static_cast<float*>(A), static_cast<float*>(B), arrays.alpha().as<float>(),
                                arrays.T().as<float>(), arrays.J().as<float>(), &options,
                                static_cast<cudaStream_t>(stream)) == VDN_STATUS_SUCCESS);
      VDN_CUDA(cudaFreeAsync(B, stream));
      VDN_CUDA(cudaFreeAsync(A, stream));
      for (void*& memory : again) {
        VDN_CUDA(cudaMallocAsync(&memory, bytes, stream));
        VDN_CUDA(cudaMemsetAsync(memory, 0xff, bytes, stream));
      }
      for (void* memory : again) VDN_CUDA(cudaFreeAsync(memory, stream));
      if (round % 10 == 0) CHECK(arrays.count_wrong(n, expected) == 0);
    }
    CHECK(arrays.count_wrong(n, expected) == 0);
  }
}

TEST_CASE("ARC-15 device memory: tight allocations of 1, 3 and 64 matrices") {
  for (const std::int64_t n : {1, 3, 64}) {
    CAPTURE(n);
    const Batch batch = model_batch(n, 165);
    const Result expected = run(batch, call_of(variants().front()));
    for (const Variant& variant : variants()) {
      CAPTURE(variant.name);
      Call call = call_of(variant);
      call.tight = true;
      CHECK(count_different(run(batch, call), expected) == 0);
    }
  }
}

}  // namespace
}  // namespace vdn_delta::test
