// SPDX-License-Identifier: Apache-2.0
//
// Large n (SHP-01, SHP-06, SHP-07): on both sides of 2^31 and 2^32 bytes and of 2^31 elements of a tensor, with a
// canary where a wrapped address would land. The inputs are 64 matrices again and again, so that every matrix of the
// outputs can be compared, on the device. Sizes for which memory is short are left out, and said so.
#include <algorithm>

#include "call.h"

namespace vdn_delta::test {
namespace {

constexpr std::int64_t kPeriod = 64;
constexpr std::int64_t kWordsPerMatrix = 4 * kMatrix + kDim + 1;  // A, B, T, J, alpha, info
constexpr std::int64_t kCanaryWords = (std::int64_t{10} << 30) / 4;

// Fills words [period, count) with what is before them.
void repeat(std::uint32_t* words, std::int64_t period, std::int64_t count) {
  for (std::int64_t done = period; done < count;) {
    const std::int64_t more = std::min(done, count - done);
    VDN_CUDA(cudaMemcpyAsync(words + done, words, static_cast<std::size_t>(more) * 4, cudaMemcpyDeviceToDevice,
                             cudaStreamLegacy));
    done += more;
  }
}

class Counter {
 public:
  Counter() : words_(2) {}
  // The count that `enqueue` adds up.
  template <class Enqueue>
  unsigned long long operator()(const Enqueue& enqueue) {
    auto* counter = reinterpret_cast<unsigned long long*>(words_.as<std::uint32_t>());
    unsigned long long value = 0;
    VDN_CUDA(cudaMemset(counter, 0, sizeof value));
    VDN_CUDA(enqueue(counter));
    finish_all();
    VDN_CUDA(cudaMemcpy(&value, counter, sizeof value, cudaMemcpyDeviceToHost));
    return value;
  }

 private:
  DeviceWords words_;
};

// Without bands: what lies behind the first n matrices is this test's own poison.
struct Tensors {
  explicit Tensors(std::int64_t n)
      : A(n * kMatrix, 0, true),
        B(n * kMatrix, 0, true),
        alpha(n * kDim, 0, true),
        T(n * kMatrix),
        J(n * kMatrix),
        info(n) {}
  DeviceWords A, B, alpha, T, J, info;
};

void check_n(std::int64_t n, Tensors& tensors, const Result& small, const Variant& variant, Counter& count) {
  CAPTURE(n);
  for (DeviceWords* words : {&tensors.T, &tensors.J, &tensors.info}) words->poison();
  vdn_delta_options_t options = VDN_DELTA_OPTIONS_INIT;
  options.variant = variant.id;
  options.info = tensors.info.as<std::int32_t>();
  const vdn_status_t status =
      vdn_delta_factors(n, tensors.A.as<float>(), tensors.B.as<float>(), tensors.alpha.as<float>(),
                        tensors.T.as<float>(), tensors.J.as<float>(), &options, nullptr);
  REQUIRE(status == VDN_STATUS_SUCCESS);
  finish_all();
  for (const auto* output : {&tensors.T, &tensors.J}) {
    const std::string name = output == &tensors.T ? "T" : "J";
    CAPTURE(name);
    const auto* words = output->as<std::uint32_t>();
    // The first matrices against a small call, all others against them, nothing behind the last.
    std::vector<float> first(static_cast<std::size_t>(kPeriod * kMatrix));
    VDN_CUDA(cudaMemcpy(first.data(), words, first.size() * 4, cudaMemcpyDeviceToHost));
    CHECK(same_bits(first, name == "T" ? small.T : small.J));
    CHECK(count([&](auto* c) { return count_aperiodic(words, n * kMatrix, kPeriod * kMatrix, c, nullptr); }) == 0);
    const std::int64_t rest = output->count() - n * kMatrix;
    CHECK(count([&](auto* c) { return count_unlike(words + n * kMatrix, rest, DeviceWords::kPoison, c, nullptr); }) ==
          0);
    CHECK(output->bands_intact());
    // Once more by other means: the last matrix as the host sees it.
    std::vector<float> last(static_cast<std::size_t>(kMatrix));
    VDN_CUDA(cudaMemcpy(last.data(), words + (n - 1) * kMatrix, last.size() * 4, cudaMemcpyDeviceToHost));
    CHECK(same_matrix(last, 0, name == "T" ? small.T : small.J, (n - 1) % kPeriod));
  }
  CHECK(count([&](auto* c) { return count_unlike(tensors.info.as<std::int32_t>(), n, 0, c, nullptr); }) == 0);
  CHECK(tensors.info.bands_intact());
}

TEST_CASE("SHP-01, SHP-06, SHP-07 device large n") {
  if (quick()) return;
  std::size_t free_bytes = 0, total_bytes = 0;
  VDN_CUDA(cudaMemGetInfo(&free_bytes, &total_bytes));
  const std::int64_t free_words = static_cast<std::int64_t>(free_bytes / 4);
  std::vector<std::int64_t> sizes = {131073, 131072, 131071, 65537, 65536, 65535, 32769, 32768, 32767};
  // Some memory stays free: the runtime's, and what allocations are rounded up to.
  const auto fits = [&](std::int64_t n) { return n * kWordsPerMatrix + (std::int64_t{512} << 20) / 4 <= free_words; };
  while (!sizes.empty() && !fits(sizes.front())) {
    MESSAGE("n = " << sizes.front() << " is left out: only " << (free_bytes >> 20) << " MiB are free");
    sizes.erase(sizes.begin());
  }
  if (sizes.empty()) return;
  const bool has_canary = fits(sizes.front() + kCanaryWords / kWordsPerMatrix + 1);
  const DeviceWords canary(has_canary ? kCanaryWords : 1, 0, true);
  const Batch batch = model_batch(kPeriod, 99);
  Tensors tensors(sizes.front());
  const struct {
    const DeviceWords& words;
    const std::vector<float>& values;
  } inputs[] = {{tensors.A, batch.A}, {tensors.B, batch.B}, {tensors.alpha, batch.alpha}};
  for (const auto& input : inputs) {
    VDN_CUDA(cudaMemcpy(input.words.as<float>(), input.values.data(), input.values.size() * 4, cudaMemcpyHostToDevice));
    repeat(input.words.as<std::uint32_t>(), static_cast<std::int64_t>(input.values.size()), input.words.count());
  }
  finish_all();
  Counter count;
  for (const Variant& variant : variants()) {
    CAPTURE(variant.name);
    Call call = call_of(variant);
    const Result small = run(batch, call);
    for (const std::int64_t n : sizes) check_n(n, tensors, small, variant, count);
  }
  CHECK(count([&](auto* c) {
          return count_unlike(canary.as<std::uint32_t>(), canary.count(), DeviceWords::kPoison, c, nullptr);
        }) == 0);
  for (const auto& input : inputs) {  // untouched
    const std::int64_t period = static_cast<std::int64_t>(input.values.size());
    CHECK(count([&](auto* c) {
            return count_aperiodic(input.words.as<std::uint32_t>(), input.words.count(), period, c, nullptr);
          }) == 0);
  }
}

}  // namespace
}  // namespace vdn_delta::test
