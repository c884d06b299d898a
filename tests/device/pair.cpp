// SPDX-License-Identifier: Apache-2.0
//
// The variants side by side:
//   - AUTO takes pair while one wave of clusters holds all matrices, and what the table of AUTO says beyond;
//   - all variants and AUTO have the same bits, around the waves of each, aligned and not, bad pivots among them;
//   - a hundred thousand launches of pair and as many of compact at random n, half of them beside a kernel that takes
//     multiprocessors away: they come to an end and have the bits of one launch.
// What is compared with is the last variant, compact, which runs wherever another does.
#include <algorithm>
#include <random>
#include <set>

#include "call.h"

namespace vdn_delta::test {
namespace {

// Of pair, resident at once; 0 where it cannot run.
std::int64_t resident_clusters() {
  vdn_delta_options_t options = VDN_DELTA_OPTIONS_INIT;
  options.variant = VDN_VARIANT_PAIR;
  vdn_delta_plan_t plan = VDN_DELTA_PLAN_INIT;
  if (vdn_delta_plan(VDN_DELTA_MAX_N, &options, -1, &plan) != VDN_STATUS_SUCCESS) return 0;
  return plan.grid / plan.cluster;
}

bool has(vdn_variant_t wanted) {
  for (const Variant& variant : variants())
    if (variant.id == wanted) return true;
  return false;
}

bool has_pair() {
  if (has(VDN_VARIANT_PAIR)) return true;
  MESSAGE("this GPU does not run pair: nothing to compare");
  return false;
}

vdn_variant_t auto_variant(std::int64_t n) {
  vdn_delta_plan_t plan = VDN_DELTA_PLAN_INIT;
  REQUIRE(vdn_delta_plan(n, nullptr, -1, &plan) == VDN_STATUS_SUCCESS);
  return plan.variant;
}

Call forced(vdn_variant_t variant) {
  Call call;
  call.variant = variant;
  return call;
}

TEST_CASE("device pair: AUTO takes it for one wave of clusters") {
  if (!has_pair()) return;
  const std::int64_t clusters = resident_clusters();
  REQUIRE(clusters >= 1);
  CHECK(2 * clusters <= multiprocessors());
  CHECK(auto_variant(1) == VDN_VARIANT_PAIR);
  CHECK(auto_variant(clusters) == VDN_VARIANT_PAIR);
  CHECK(auto_variant(clusters + 1) != VDN_VARIANT_PAIR);
  CHECK(auto_variant(VDN_DELTA_MAX_N) == (has(VDN_VARIANT_SINGLE) ? VDN_VARIANT_SINGLE : VDN_VARIANT_COMPACT));
}

TEST_CASE("device pair: the same bits by every variant and by AUTO") {
  if (!has_pair()) return;
  const std::int64_t clusters = resident_clusters();
  std::set<std::int64_t> sizes = {1, 2};
  if (!quick()) sizes.insert({65, 66, 67, 133, clusters, clusters + 1, 2 * clusters + 1, 4 * clusters + 1});
  Batch batch = model_batch(*sizes.rbegin(), 111);
  support::break_pivot(batch.A.data() + kMatrix, 9);
  if (batch.n > 66) support::break_pivot(batch.A.data() + 66 * kMatrix, 128);
  for (const std::int64_t n : sizes) {
    CAPTURE(n);
    const Batch some = slice(batch, 0, n);
    const Result expected = run(some, forced(VDN_VARIANT_COMPACT));
    for (const Offsets& offsets :
         {Offsets{}, Offsets{1, 2, 3, 1, 2, 3}, Offsets{1, 0, 0, 0, 0, 0}, Offsets{0, 0, 0, 0, 1, 0}}) {
      CAPTURE(offsets.A);
      CAPTURE(offsets.J);
      for (const vdn_variant_t variant :
           {VDN_VARIANT_PAIR, VDN_VARIANT_SINGLE, VDN_VARIANT_COMPACT, VDN_VARIANT_AUTO}) {
        if (variant != VDN_VARIANT_AUTO && !has(variant)) continue;
        CAPTURE(static_cast<int>(variant));
        Call call = forced(variant);
        call.offsets = offsets;
        CHECK(count_different(run(some, call), expected) == 0);
      }
    }
  }
}

// Matrices 0 .. n-1 of the outputs are the expected ones, and behind them nothing has been written.
void check_first(const Buffers& buffers, std::int64_t n, const Result& expected) {
  Result result;
  result.T.resize(expected.T.size());
  result.J.resize(expected.J.size());
  result.info.resize(expected.info.size());
  buffers.T().download(result.T.data());
  buffers.J().download(result.J.data());
  buffers.info().download(result.info.data());
  const Result nothing = [&] {
    Result poison = result;
    std::fill_n(reinterpret_cast<std::uint32_t*>(poison.T.data()), poison.T.size(), DeviceWords::kPoison);
    poison.J = poison.T;
    std::fill(poison.info.begin(), poison.info.end(), -1);
    return poison;
  }();
  std::int64_t different = 0, beyond = 0;
  for (std::int64_t m = 0; m < buffers.n(); ++m)
    (m < n ? different : beyond) += !same_result(result, m, m < n ? expected : nothing, m);
  CHECK(different == 0);
  CHECK(beyond == 0);
}

void launch_often(vdn_variant_t variant) {
  const int launches = quick() ? 20 : 100000, block = quick() ? 10 : 1000;
  Batch batch = model_batch(quick() ? 5 : 200, 112);
  support::break_pivot(batch.A.data() + 2 * kMatrix, 77);
  const Result expected = run(batch, forced(VDN_VARIANT_COMPACT));
  Call call = forced(variant), shifted = call;
  shifted.offsets = {1, 2, 3, 1, 2, 3};
  Buffers aligned(batch, call), unaligned(batch, shifted);
  Stream stream, busy;
  VDN_CUDA(load_kernels());
  std::mt19937 random(113);
  const auto up_to = [&](std::int64_t most) {  // 1 .. most
    return static_cast<int>(1 + random() % static_cast<unsigned long>(most));
  };
  for (int first = 0; first < launches; first += block) {
    CAPTURE(first);
    const bool is_beside = !quick() && first / block % 2 == 1;
    CAPTURE(is_beside);
    int refused = 0;
    std::int64_t n = 0;
    Buffers* buffers = nullptr;
    {
      // A launch waits while too many are pending: it would be here that a kernel without an end shows.
      const Patience patience("a thousand launches");
      for (int launch = 0; launch < block; ++launch) {
        n = up_to(batch.n);
        buffers = up_to(8) == 1 ? &unaligned : &aligned;
        vdn_delta_options_t options = VDN_DELTA_OPTIONS_INIT;
        options.variant = variant;
        options.programmatic_launch = up_to(4) == 1;
        options.info = buffers->info().as<std::int32_t>();
        if (is_beside && launch % 10 == 0)
          refused += hold_multiprocessors(up_to(multiprocessors()), up_to(400), busy) != cudaSuccess;
        if (launch + 1 == block) {
          for (const DeviceWords* words : {&buffers->T(), &buffers->J(), &buffers->info()}) {
            refused += cudaMemsetAsync(words->as<std::uint32_t>(), 0xff, static_cast<std::size_t>(words->count()) * 4,
                                       stream) != cudaSuccess;
          }
        }
        refused += vdn_delta_factors(n, buffers->A().as<float>(), buffers->B().as<float>(),
                                     buffers->alpha().as<float>(), buffers->T().as<float>(), buffers->J().as<float>(),
                                     &options, static_cast<cudaStream_t>(stream)) != VDN_STATUS_SUCCESS;
      }
    }
    finish(stream);
    finish(busy);
    REQUIRE(refused == 0);
    CAPTURE(n);
    CAPTURE(buffers == &unaligned);
    check_first(*buffers, n, expected);
  }
  // Inputs and guard bands, after all of that.
  for (Buffers* one : {&aligned, &unaligned}) {
    one->poison();
    one->enqueue(nullptr);
    CHECK(count_different(one->collect(), expected) == 0);
  }
}

TEST_CASE("device pair: many launches") {
  if (has_pair()) launch_often(VDN_VARIANT_PAIR);
}

TEST_CASE("device pair: many launches of compact") {
  if (has_pair()) launch_often(VDN_VARIANT_COMPACT);
}

}  // namespace
}  // namespace vdn_delta::test
