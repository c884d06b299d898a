// SPDX-License-Identifier: Apache-2.0
//
// Which results are equal to the bit, within a variant:
//   - the same call again;
//   - a matrix whatever n is (NUM-16, SHP-10), wherever it is in the batch, whatever its neighbours hold (NUM-17);
//   - info asked for or not; any alignment of any array (MEM-01, MEM-02, MEM-03); exact-size allocations (SHP-12);
//   - the strict upper triangle of A, which is never read (NUM-11, CPU-10);
//   - after runs full of NaN and 1e30, and with NaN left in shared memory (NUM-14).
#include <algorithm>
#include <limits>
#include <set>

#include "call.h"

namespace vdn_delta::test {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

TEST_CASE("device bits: the same call twenty times") {
  const Batch batch = model_batch(quick() ? 5 : 2 * multiprocessors() + 3, 21);
  for (const Variant& variant : variants()) {
    CAPTURE(variant.name);
    Buffers buffers(batch, call_of(variant));
    buffers.enqueue(nullptr);
    const Result first = buffers.collect();
    for (int round = 1; round < (quick() ? 3 : 20); ++round) {
      CAPTURE(round);
      buffers.poison();
      buffers.enqueue(nullptr);
      CHECK(count_different(buffers.collect(), first) == 0);
    }
  }
}

TEST_CASE("NUM-16, SHP-10 device bits: a matrix does not depend on n") {
  const std::int64_t wave = multiprocessors();
  const std::int64_t most = quick() ? 2 * wave + 3 : 707;
  Batch batch = model_batch(most, 22);
  // Two bad ones, the second behind a good one on the same CTA and before another.
  support::break_pivot(batch.A.data() + 4 * kMatrix, 9);
  support::break_pivot(batch.A.data() + (wave + 2) * kMatrix, 128);
  std::set<std::int64_t> sizes = {1, 2, 5};
  if (!quick()) {
    sizes.insert({3, 11, 64, 131, 132, 133, 264, 265, wave - 1, wave, wave + 1, 2 * wave, 2 * wave + 1, 3 * wave + 2});
    // The last wave of `single` is shared by pairs of CTAs if it is at most half of one. The second bad matrix is in
    // the second wave: in the first two of these it is a shared one.
    sizes.insert({wave + 3, wave + wave / 2, wave + wave / 2 + 1, 2 * wave + wave / 2});
    sizes.erase(sizes.upper_bound(most), sizes.end());
  }
  for (const Variant& variant : variants()) {
    CAPTURE(variant.name);
    const Result all = run(batch, call_of(variant));
    CHECK(count_nonzero(all.info) == 2);
    CHECK(all.info[4] == 9);
    CHECK(all.info[static_cast<std::size_t>(wave + 2)] == 128);
    CHECK(count_not_finite(all.T) == 2 * kMatrix);
    CHECK(count_not_finite(all.J) == 2 * kMatrix);
    for (const std::int64_t n : sizes) {
      CAPTURE(n);
      CHECK(count_different(run(slice(batch, 0, n), call_of(variant)), all) == 0);
    }
    // One by one, from anywhere.
    for (const std::int64_t m : {std::int64_t{1}, wave - 1, wave, 2 * wave + 2, most - 1}) {
      if (quick() && m != most - 1) continue;
      CAPTURE(m);
      CHECK(same_result(run(slice(batch, m, 1), call_of(variant)), 0, all, m));
    }
  }
}

TEST_CASE("device bits: a matrix does not depend on its place") {
  const Batch batch = model_batch(quick() ? 5 : 2 * multiprocessors() + 5, 23);
  std::vector<std::int64_t> reversed, rotated;
  for (std::int64_t m = 0; m < batch.n; ++m) {
    reversed.push_back(batch.n - 1 - m);
    rotated.push_back((m + batch.n / 3 + 1) % batch.n);
  }
  for (const Variant& variant : variants()) {
    CAPTURE(variant.name);
    const Result straight = run(batch, call_of(variant));
    for (const auto& order : {reversed, rotated}) {
      const Result moved = run(pick(batch, order), call_of(variant));
      std::int64_t different = 0;
      for (std::int64_t m = 0; m < batch.n; ++m)
        different += !same_result(moved, m, straight, order[static_cast<std::size_t>(m)]);
      CHECK(different == 0);
    }
    // Nothing but copies of one matrix, and that one alone.
    const Batch copies = pick(batch, std::vector<std::int64_t>(static_cast<std::size_t>(batch.n), 4));
    const Result many = run(copies, call_of(variant));
    std::int64_t different = 0;
    for (std::int64_t m = 0; m < batch.n; ++m) different += !same_result(many, m, straight, 4);
    CHECK(different == 0);
  }
}

TEST_CASE("NUM-17 device bits: a matrix does not depend on its neighbours") {
  const std::int64_t wave = quick() ? 1 : multiprocessors();
  const Batch batch = model_batch(quick() ? 5 : 3 * wave + 5, 24);
  // Among them are the first and the last one of a CTA, and some with neighbours before and after on the same CTA.
  const std::set<std::int64_t> watched = {0, wave + 1, 2 * wave, batch.n - 1};
  for (const Variant& variant : variants()) {
    CAPTURE(variant.name);
    const Result plain = run(batch, call_of(variant));
    for (const float filling : {0.0f, 1e30f, -1e30f, kNan, std::numeric_limits<float>::infinity()}) {
      if (quick() && filling != 1e30f && filling == filling) continue;
      CAPTURE(filling);
      Batch crowd = batch;
      for (std::int64_t m = 0; m < batch.n; ++m) {
        if (watched.count(m) != 0) continue;
        std::fill_n(crowd.A.begin() + m * kMatrix, kMatrix, filling);
        std::fill_n(crowd.B.begin() + m * kMatrix, kMatrix, filling);
        std::fill_n(crowd.alpha.begin() + m * kDim, kDim, filling);
      }
      const Result result = run(crowd, call_of(variant));
      for (const std::int64_t m : watched) {
        CAPTURE(m);
        CHECK(same_result(result, m, plain, m));
      }
    }
  }
}

TEST_CASE("MEM-01, MEM-02, MEM-03 device bits: alignment of every array") {
  // More matrices than CTAs, so that the second matrix of a CTA takes the slow path as well.
  const Batch batch = model_batch(multiprocessors() + 3, 25);
  std::vector<Offsets> shifts;
  for (const int o : {1, 2, 3}) {
    if (quick()) break;
    shifts.push_back({o, o, o, o, o, o});
    shifts.push_back({o, 0, 0, 0, 0, 0});
    shifts.push_back({0, o, 0, 0, 0, 0});
    shifts.push_back({0, 0, o, 0, 0, 0});
    shifts.push_back({0, 0, 0, o, 0, 0});
    shifts.push_back({0, 0, 0, 0, o, 0});
    shifts.push_back({0, 0, 0, 0, 0, o});
    shifts.push_back({o, 0, 0, o, 0, 0});
    shifts.push_back({0, o, 0, 0, o, 0});
  }
  shifts.push_back({1, 2, 3, 0, 1, 2});
  if (!quick()) shifts.push_back({0, 1, 0, 3, 2, 1});
  shifts.push_back({4, 8, 12, 16, 20, 28});  // aligned to 16 bytes but to no more
  for (const Variant& variant : variants()) {
    CAPTURE(variant.name);
    const Result aligned = run(batch, call_of(variant));
    for (const Offsets& o : shifts) {
      const int offsets[] = {o.A, o.B, o.alpha, o.T, o.J, o.info};
      std::string shift;
      for (const int offset : offsets) shift += std::to_string(offset) + " ";
      CAPTURE(shift);
      Call call = call_of(variant);
      call.offsets = o;
      CHECK(count_different(run(batch, call), aligned) == 0);
    }
  }
}

TEST_CASE("SHP-12 device bits: exact-size allocations") {
  for (const std::int64_t n : quick() ? std::vector<std::int64_t>{1, 3} : std::vector<std::int64_t>{1, 3, 255, 256}) {
    CAPTURE(n);
    const Batch batch = model_batch(n, 26);
    for (const Variant& variant : variants()) {
      CAPTURE(variant.name);
      const Result roomy = run(batch, call_of(variant));
      Call call = call_of(variant);
      call.tight = true;
      for (const int offset : {0, 1}) {
        CAPTURE(offset);
        call.offsets = {offset, offset, offset, offset, offset, offset};
        CHECK(count_different(run(batch, call), roomy) == 0);
      }
    }
  }
}

TEST_CASE("device bits: info asked for or not") {
  Batch batch = model_batch(quick() ? 3 : multiprocessors() + 3, 27);
  support::break_pivot(batch.A.data() + kMatrix, 70);
  for (const Variant& variant : variants()) {
    CAPTURE(variant.name);
    Call call = call_of(variant);
    const Result with = run(batch, call);
    call.with_info = false;
    CHECK(count_different(run(batch, call), with) == 0);
  }
}

TEST_CASE("NUM-11, CPU-10 device bits: the strict upper triangle of A is not read") {
  const Batch batch = model_batch(quick() ? 2 : multiprocessors() + 3, 28);
  for (const float filling : {kNan, 1e30f}) {
    CAPTURE(filling);
    Batch dirty = batch;
    for (std::int64_t m = 0; m < batch.n; ++m) {
      for (int i = 0; i < kDim; ++i) {
        const auto row = dirty.A.begin() + m * kMatrix + i * kDim;
        std::fill(row + i + 1, row + kDim, filling);
      }
    }
    for (const Variant& variant : variants()) {
      CAPTURE(variant.name);
      for (const int offset : {0, 1}) {  // both ways in
        CAPTURE(offset);
        Call call = call_of(variant);
        call.offsets.A = offset;
        const Result clean = run(batch, call), result = run(dirty, call);
        CHECK(count_different(result, clean) == 0);
      }
    }
  }
}

TEST_CASE("NUM-14 device bits: nothing is left of earlier runs") {
  const Batch batch = model_batch(quick() ? 3 : multiprocessors() + 3, 29);
  for (const Variant& variant : variants()) {
    CAPTURE(variant.name);
    const Result fresh = run(batch, call_of(variant));
    for (const float filling : {kNan, 1e30f}) {
      CAPTURE(filling);
      Batch bad = batch;
      std::fill(bad.A.begin(), bad.A.end(), filling);
      std::fill(bad.B.begin(), bad.B.end(), filling);
      std::fill(bad.alpha.begin(), bad.alpha.end(), filling);
      run(bad, call_of(variant));
      CHECK(count_different(run(batch, call_of(variant)), fresh) == 0);
    }
    for (const std::uint32_t word : {0xffffffffu, 0x7f800000u, 0u}) {
      CAPTURE(word);
      const Buffers buffers(batch, call_of(variant));
      VDN_CUDA(fill_shared_memory(word, nullptr));
      buffers.enqueue(nullptr);
      CHECK(count_different(buffers.collect(), fresh) == 0);
    }
  }
}

}  // namespace
}  // namespace vdn_delta::test
