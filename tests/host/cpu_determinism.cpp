// SPDX-License-Identifier: Apache-2.0
//
// The same bits: whatever the thread count, the batch around a matrix, the alignment, the scratch, the level's width;
// and the floating-point mode, which is the caller's.
#include <cfenv>
#include <cstring>
#include <limits>
#include <memory>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "cpu/level.h"
#include "cpu_call.h"

namespace vdn_delta::test {
namespace {

using support::InputSpec;
using support::same_bits;

Batch small_batch(std::int64_t n, std::uint64_t seed = 1) {
  InputSpec spec;
  spec.n = n;
  spec.tokens = 200;
  spec.beta_scale = 50;
  spec.seed = seed;
  return make_batch(spec);
}

TEST_CASE("cpu determinism: thread count and repetition") {
  const Batch batch = small_batch(37);
  for (const Door& door : all_doors()) {
    const Result first = run(batch, {door, 1});
    for (const int threads : {1, 2, 3, 5, 16, 64, 0}) {
      CAPTURE(threads);
      const Result again = run(batch, {door, threads});
      CHECK(same_bits(first.T, again.T));
      CHECK(same_bits(first.J, again.J));
      CHECK(same_bits(first.info, again.info));
    }
  }
}

TEST_CASE("CPU-11: identical entries of a batch agree") {
  const Batch one = small_batch(1, 5);
  for (const Door& door : all_doors()) {
    const Result alone = run(one, {door, 1});
    for (const std::int64_t n : {2, 33}) {
      Batch many;
      many.n = n;
      for (std::int64_t m = 0; m < n; ++m) {
        many.A.insert(many.A.end(), one.A.begin(), one.A.end());
        many.B.insert(many.B.end(), one.B.begin(), one.B.end());
        many.alpha.insert(many.alpha.end(), one.alpha.begin(), one.alpha.end());
      }
      for (const int threads : {1, 16}) {
        CAPTURE(n);
        CAPTURE(threads);
        const Result result = run(many, {door, threads});
        std::int64_t different = 0;
        for (std::int64_t m = 0; m < n; ++m)
          different += !same_bits(result.T_of(m), alone.T) || !same_bits(result.J_of(m), alone.J);
        CHECK(different == 0);
      }
    }
  }
}

TEST_CASE("SHP-10 cpu: a batch of one, and its place in a larger batch") {
  const Batch batch = small_batch(9, 6);
  for (const Door& door : all_doors()) {
    const Result all = run(batch, {door});
    for (const std::int64_t m : {0, 5, 8}) {
      CAPTURE(m);
      const Result one = run(slice(batch, m, 1), {door});
      CHECK(same_bits(one.T, all.T_of(m)));
      CHECK(same_bits(one.J, all.J_of(m)));
    }
    // Another neighbourhood, another position, a shorter batch.
    const Result tail = run(slice(batch, 3, 4), {door});
    CHECK(same_bits(tail.T_of(2), all.T_of(5)));
    CHECK(same_bits(tail.J_of(2), all.J_of(5)));
  }
}

TEST_CASE("cpu determinism: alignment of each array") {
  const Batch batch = small_batch(2, 7);
  for (const Door& door : all_doors()) {
    const Result aligned = run(batch, {door});
    for (const int offset : {1, 2, 3}) {
      const Offsets shifts[] = {{offset, 0, 0, 0, 0}, {0, offset, 0, 0, 0}, {0, 0, offset, 0, 0},
                                {0, 0, 0, offset, 0}, {0, 0, 0, 0, offset}, {offset, offset, offset, offset, offset}};
      for (const Offsets& offsets : shifts) {
        CAPTURE(offset);
        Call call = {door};
        call.offsets = offsets;
        const Result shifted = run(batch, call);
        CHECK(same_bits(shifted.T, aligned.T));
        CHECK(same_bits(shifted.J, aligned.J));
      }
    }
  }
}

TEST_CASE("cpu determinism: info asked for or not") {
  Batch batch = small_batch(3, 8);
  support::break_pivot(batch.A.data() + kMatrix, 70);
  for (const Door& door : all_doors()) {
    Call call = {door};
    const Result with = run(batch, call);
    call.with_info = false;
    const Result without = run(batch, call);
    CHECK(same_bits(with.T, without.T));
    CHECK(same_bits(with.J, without.J));
  }
}

TEST_CASE("CPU-10: no reliance on the upper triangle of A or on what scratch held") {
  const Batch batch = small_batch(2, 9);
  Batch poisoned = batch;
  for (std::int64_t m = 0; m < batch.n; ++m) {
    for (int i = 0; i < kDim; ++i) {
      for (int j = i + 1; j < kDim; ++j)
        poisoned.A[static_cast<std::size_t>(m * kMatrix + i * kDim + j)] = std::numeric_limits<float>::signaling_NaN();
    }
  }
  for (const Door& door : all_doors()) {  // run() compares the inputs before and after
    const Result clean = run(batch, {door}), dirty = run(poisoned, {door});
    CHECK(same_bits(clean.T, dirty.T));
    CHECK(same_bits(clean.J, dirty.J));
  }

  std::vector<float> scratch(cpu::kScratchFloats + 16);
  void* start = scratch.data();
  std::size_t space = scratch.size() * sizeof(float);
  float* aligned =
      static_cast<float*>(std::align(cpu::kScratchAlign, cpu::kScratchFloats * sizeof(float), start, space));
  for (const Door& door : level_doors()) {
    cpu::SolveFunction solve = cpu::baseline::solve;
#if defined(__x86_64__)
    if (door.level == cpu::Level::kAvx2) solve = cpu::avx2::solve;
    if (door.level == cpu::Level::kAvx512) solve = cpu::avx512::solve;
#endif
    const Result expected = run(slice(batch, 0, 1), {door});
    for (const float content : {0.0f, std::numeric_limits<float>::quiet_NaN(), 1e38f}) {
      CAPTURE(content);
      std::fill(scratch.begin(), scratch.end(), content);
      std::vector<float> T(kMatrix), J(kMatrix);
      CHECK(solve({batch.A.data(), batch.B.data(), batch.alpha.data(), T.data(), J.data(), 1.0f, 1.0f}, aligned) == 0);
      CHECK(same_bits(T, expected.T));
      CHECK(same_bits(J, expected.J));
    }
  }
}

#if defined(__x86_64__)
TEST_CASE("cpu determinism: the levels with fused products agree in every bit") {
  // Not promised to callers, but why it holds is written in tile.h; a difference means that a sum lost its order.
  if (cpu::best_level() != cpu::Level::kAvx512) {
    MESSAGE("skipped: this processor has no AVX-512");
    return;
  }
  for (const double beta_scale : {1.0, 100.0}) {
    InputSpec spec;
    spec.n = 8;
    spec.tokens = 64;
    spec.beta_scale = beta_scale;
    const Batch batch = make_batch(spec);
    const Result avx2 = run(batch, {{false, cpu::Level::kAvx2}});
    const Result avx512 = run(batch, {{false, cpu::Level::kAvx512}});
    CHECK(same_bits(avx2.T, avx512.T));
    CHECK(same_bits(avx2.J, avx512.J));
  }
}

TEST_CASE("NUM-19 cpu: subnormals are kept, or flushed if that is the caller's mode; the mode is left alone") {
  Batch batch = support::make_identity(2);
  for (int i = 0; i < kDim; ++i) batch.alpha[static_cast<std::size_t>(i)] = 1e-40f;
  support::set_diagonal(batch.B.data(), 1e-40f);
  support::set_diagonal(batch.A.data() + kMatrix, 3e38f);
  const unsigned mode = _mm_getcsr();
  constexpr unsigned kFlush = 0x8040;  // FTZ and DAZ
  constexpr unsigned kControl = ~0x3fu;
  for (const Door& door : all_doors()) {
    for (const int threads : {1, 2}) {
      const std::string name = door.name();
      CAPTURE(name);
      CAPTURE(threads);
      const Result kept = run(batch, {door, threads});
      std::int64_t wrong = 0;
      for (int i = 0; i < kDim; ++i) {
        for (int j = 0; j < kDim; ++j) {
          const std::size_t at = static_cast<std::size_t>(i * kDim + j);
          wrong += kept.T[at] != (i == j ? 1e-40f : 0.0f);
          wrong += kept.J[at] != (i == j ? 1e-40f : 0.0f);
          const double tiny = i == j ? 1.0 / static_cast<double>(3e38f) : 0.0;
          wrong += std::abs(kept.T[at + kMatrix] - tiny) > 3e-45;  // two steps of the subnormal grid
          wrong += std::abs(kept.J[at + kMatrix] - tiny) > 3e-45;
        }
      }
      CHECK(wrong == 0);

      _mm_setcsr((mode | kFlush) & kControl);
      const Result flushed = run(batch, {door, threads});
      const unsigned after = _mm_getcsr();
      _mm_setcsr(mode);
      CHECK((after & kControl) == ((mode | kFlush) & kControl));
      std::int64_t not_zero = 0;
      for (const float x : flushed.T) not_zero += std::memcmp(&x, "\0\0\0\0", 4) != 0;
      for (const float x : flushed.J) not_zero += std::memcmp(&x, "\0\0\0\0", 4) != 0;
      CHECK(not_zero == 0);
    }
  }
}
#endif

TEST_CASE("cpu determinism: the rounding mode is the caller's, for helpers too, and is left alone") {
  const Batch batch = small_batch(8, 12);
  for (const Door& door : all_doors()) {
    const Result nearest = run(batch, {door, 1});
    std::fesetround(FE_UPWARD);
    const Result one = run(batch, {door, 1}), four = run(batch, {door, 4});
    const int after = std::fegetround();
    std::fesetround(FE_TONEAREST);
    CHECK(after == FE_UPWARD);
    CHECK(same_bits(one.T, four.T));
    CHECK(same_bits(one.J, four.J));
    CHECK_FALSE(same_bits(one.J, nearest.J));
  }
}

}  // namespace
}  // namespace vdn_delta::test
