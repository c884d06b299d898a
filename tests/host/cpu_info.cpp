// SPDX-License-Identifier: Apache-2.0
//
// What happens to matrices that cannot be inverted, and to the ones beside them; NaN and Inf placed on purpose; calls
// that are refused or have nothing to do.
#include <cmath>
#include <limits>

#include "cpu_call.h"
#include "support/oracle.h"

namespace vdn_delta::test {
namespace {

using support::InputSpec;
using support::same_bits;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

Batch good_batch(std::int64_t n) {
  InputSpec spec;
  spec.n = n;
  spec.tokens = 200;
  spec.seed = 13;
  return make_batch(spec);
}

// Quiet NaN throughout.
bool is_nan(const std::vector<float>& values) {
  for (const float x : values) {
    std::uint32_t bits;
    std::memcpy(&bits, &x, 4);
    if ((bits & 0x7fc00000u) != 0x7fc00000u) return false;
  }
  return true;
}

bool is_finite(const std::vector<float>& values) {
  for (const float x : values) {
    if (!std::isfinite(x)) return false;
  }
  return true;
}

// Matrix `m` of `batch` has been damaged: `order` is reported, its outputs are NaN, all others are as in `before`.
void check_only(const Batch& batch, const Result& before, const Door& door, std::int64_t m, std::int32_t order) {
  const std::string name = door.name();
  CAPTURE(name);
  CAPTURE(m);
  CAPTURE(order);
  const Result after = run(batch, {door, 2});
  for (std::int64_t i = 0; i < batch.n; ++i) {
    CAPTURE(i);
    CHECK(after.info[static_cast<std::size_t>(i)] == (i == m ? order : 0));
    if (i == m) {
      CHECK(is_nan(after.T_of(i)));
      CHECK(is_nan(after.J_of(i)));
    } else {
      CHECK(same_bits(after.T_of(i), before.T_of(i)));
      CHECK(same_bits(after.J_of(i), before.J_of(i)));
    }
  }
}

TEST_CASE("cpu info: the order of the first bad pivot") {
  const Batch good = good_batch(3);
  for (const Door& door : all_doors()) {
    const Result before = run(good, {door});
    CHECK(before.info == std::vector<std::int32_t>{0, 0, 0});
    for (const int order : {1, 2, 7, 8, 9, 16, 17, 63, 64, 65, 100, 127, 128}) {
      Batch batch = good;
      support::break_pivot(batch.A.data() + kMatrix, order);
      check_only(batch, before, door, 1, order);
    }
  }
}

TEST_CASE("cpu info: a pivot of exactly zero, an infinite one, a NaN") {
  const Batch good = good_batch(2);
  for (const Door& door : all_doors()) {
    const Result before = run(good, {door});
    for (const int order : {1, 64, 65, 128}) {
      // Zero: row and column of the identity with -1 on the diagonal: the Schur complement is exactly 1 - 1.
      Batch batch = good;
      float* A = batch.A.data();
      for (int i = 0; i < kDim; ++i) A[i * kDim + order - 1] = A[(order - 1) * kDim + i] = 0.0f;
      A[(order - 1) * kDim + order - 1] = -1.0f;
      check_only(batch, before, door, 0, order);
      for (const float value : {kInf, -kInf, kNan}) {
        CAPTURE(value);
        batch = good;
        batch.A[static_cast<std::size_t>((order - 1) * kDim + order - 1)] = value;
        check_only(batch, before, door, 0, order);
      }
    }
    // Off the diagonal it is found when its row comes up: -Inf or NaN is left of the pivot.
    for (const float value : {kInf, -kInf, kNan}) {
      CAPTURE(value);
      Batch batch = good;
      batch.A[kMatrix + 100 * kDim + 3] = value;
      check_only(batch, before, door, 1, 101);
    }
  }
}

TEST_CASE("cpu info: overflow in a_scale A is a bad pivot, the largest finite one is not") {
  Batch batch = support::make_identity(1);
  support::set_diagonal(batch.A.data(), 3e38f);
  for (const Door& door : all_doors()) {
    Call call = {door};
    CHECK(run(batch, call).info[0] == 0);
    call.a_scale = 2.0f;
    const Result result = run(batch, call);
    CHECK(result.info[0] == 1);
    CHECK(is_nan(result.T));
    CHECK(is_nan(result.J));
  }
  // A subnormal pivot is positive and finite, and its inverse overflows: said by info 0 and infinite entries, as far as
  // this contract goes. (-1 + 2^-24 is the number nearest to -1 from above.)
  support::set_diagonal(batch.A.data(), -1.0f + 0x1p-24f);
  for (const Door& door : all_doors()) {
    const Result result = run(batch, {door});
    CHECK(result.info[0] == 0);
    CHECK(result.T[0] == 0x1p24f);
  }
}

TEST_CASE("cpu info: several bad matrices in one batch") {
  const Batch good = good_batch(12);
  Batch batch = good;
  const std::vector<std::int32_t> orders = {0, 1, 0, 64, 65, 0, 0, 128, 33, 0, 9, 0};
  for (std::size_t m = 0; m < orders.size(); ++m) {
    if (orders[m] != 0) support::break_pivot(batch.A.data() + static_cast<std::int64_t>(m) * kMatrix, orders[m]);
  }
  // Two bad pivots in one matrix: the first counts.
  support::break_pivot(batch.A.data() + 3 * kMatrix, 90);
  for (const Door& door : all_doors()) {
    const Result before = run(good, {door});
    for (const int threads : {1, 3}) {
      const Result after = run(batch, {door, threads});
      CHECK(after.info == orders);
      for (std::size_t m = 0; m < orders.size(); ++m) {
        CAPTURE(m);
        const auto i = static_cast<std::int64_t>(m);
        CHECK((orders[m] != 0 ? is_nan(after.T_of(i)) : same_bits(after.T_of(i), before.T_of(i))));
        CHECK((orders[m] != 0 ? is_nan(after.J_of(i)) : same_bits(after.J_of(i), before.J_of(i))));
      }
    }
  }
}

TEST_CASE("NUM-01 cpu: a matrix full of NaN is flagged, its neighbours are exact") {
  Batch batch = support::make_identity(3);
  support::set_diagonal(batch.A.data(), 2.0f);
  support::set_diagonal(batch.A.data() + 2 * kMatrix, 2.0f);
  Batch clean = batch;
  support::set_diagonal(clean.A.data() + kMatrix, 2.0f);
  for (float* x = batch.A.data() + kMatrix; x != batch.A.data() + 2 * kMatrix; ++x) *x = kNan;
  for (const Door& door : all_doors()) {
    const Result before = run(clean, {door});
    check_only(batch, before, door, 1, 1);
    CHECK(before.T[0] == doctest::Approx(1.0 / 3.0).epsilon(1e-6));
    CHECK(before.T[1] == 0.0f);
  }
}

TEST_CASE("NUM-04 cpu: a negative definite matrix is flagged, never finite") {
  Batch batch = support::make_identity(1);
  support::set_diagonal(batch.A.data(), -3.0f);
  for (const Door& door : all_doors()) {
    const Result result = run(batch, {door});
    CHECK(result.info[0] == 1);
    CHECK(is_nan(result.T));
    CHECK(is_nan(result.J));
  }
}

TEST_CASE("NUM-11 cpu: the lower triangle decides, the upper one is not looked at") {
  const Batch batch = good_batch(1);
  Batch upper = batch, lower = batch, both = batch;
  upper.A[3 * kDim + 100] += 1e-2f;
  lower.A[100 * kDim + 3] += 1e-2f;
  both.A[3 * kDim + 100] += 1e-2f;
  both.A[100 * kDim + 3] += 1e-2f;
  for (const Door& door : all_doors()) {
    const Result plain = run(batch, {door}), from_upper = run(upper, {door}), from_lower = run(lower, {door}),
                 from_both = run(both, {door});
    CHECK(same_bits(plain.T, from_upper.T));
    CHECK(same_bits(plain.J, from_upper.J));
    CHECK(same_bits(from_lower.T, from_both.T));
    CHECK(same_bits(from_lower.J, from_both.J));
    CHECK_FALSE(same_bits(plain.T, from_lower.T));
    const support::Reference reference = support::solve_reference(1, both.A.data(), both.B.data(), both.alpha.data());
    const support::Errors errors = support::compare(1, from_lower.T.data(), from_lower.J.data(), reference);
    CHECK(errors.worst_T < 1e-6);
    CHECK(errors.worst_J < 1e-6);
  }
}

TEST_CASE("CPU-12: NaN in B reaches J only and one row of it, NaN in alpha one row of T") {
  const Batch good = good_batch(2);
  for (const Door& door : all_doors()) {
    const std::string name = door.name();
    CAPTURE(name);
    const Result before = run(good, {door});
    for (const int row : {0, 17, 127}) {
      for (const int column : {0, 70, 127}) {
        CAPTURE(row);
        CAPTURE(column);
        for (const float value : {kNan, kInf}) {
          CAPTURE(value);
          Batch batch = good;
          batch.B[static_cast<std::size_t>(row * kDim + column)] = value;
          const Result result = run(batch, {door});
          CHECK(result.info == before.info);
          CHECK(same_bits(result.T, before.T));
          std::int64_t wrong = 0;
          for (std::int64_t i = 0; i < 2 * kMatrix; ++i) {
            const float x = result.J[static_cast<std::size_t>(i)];
            if (i / kDim == row) {
              wrong += std::isnan(value) ? !std::isnan(x) : std::isfinite(x);
            } else {
              wrong += std::memcmp(&x, &before.J[static_cast<std::size_t>(i)], 4) != 0;
            }
          }
          CHECK(wrong == 0);
        }
      }
      Batch batch = good;
      batch.alpha[static_cast<std::size_t>(row)] = kNan;
      const Result result = run(batch, {door});
      CHECK(result.info == before.info);
      CHECK(same_bits(result.J, before.J));
      std::int64_t wrong = 0;
      for (std::int64_t i = 0; i < 2 * kMatrix; ++i) {
        const float x = result.T[static_cast<std::size_t>(i)];
        wrong += i / kDim == row ? !std::isnan(x) : std::memcmp(&x, &before.T[static_cast<std::size_t>(i)], 4) != 0;
      }
      CHECK(wrong == 0);
    }
  }
  // Inf on A's diagonal: a bad pivot of that order.
  Batch batch = good;
  batch.A[30 * kDim + 30] = kInf;
  for (const Door& door : all_doors()) check_only(batch, run(good, {door}), door, 0, 31);
}

TEST_CASE("cpu info: huge and tiny B and alpha stay what they are") {
  Batch batch = good_batch(1);
  for (float& x : batch.B) x *= 1e36f;
  for (float& x : batch.alpha) x = 1e-38f;
  for (const Door& door : all_doors()) {
    const Result result = run(batch, {door});
    CHECK(is_finite(result.T));
    CHECK(is_finite(result.J));
    CHECK(result.T[0] > 0.0f);
  }
}

TEST_CASE("SHP-09 cpu: an empty batch succeeds, null pointers and all") {
  CHECK(vdn_delta_factors_host(0, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, 0) == VDN_STATUS_SUCCESS);
  vdn_delta_options_t options = VDN_DELTA_OPTIONS_INIT;
  CHECK(vdn_delta_factors_host(0, nullptr, nullptr, nullptr, nullptr, nullptr, &options, 7) == VDN_STATUS_SUCCESS);
  Batch empty;
  for (const Door& door : all_doors()) CHECK(run(empty, {door}).T.empty());
}

TEST_CASE("MEM-10 cpu: in place is refused and writes nothing") {
  const Batch batch = good_batch(4);
  Batch copy = batch;
  float* const A = copy.A.data();
  float* const B = copy.B.data();
  support::Guarded<float> T(copy.n * kMatrix), J(copy.n * kMatrix);
  const auto call = [&](float* t, float* j) {
    return vdn_delta_factors_host(copy.n, A, B, copy.alpha.data(), t, j, nullptr, 2);
  };
  CHECK(call(A, J.data()) == VDN_STATUS_OVERLAP);
  CHECK(call(T.data(), B) == VDN_STATUS_OVERLAP);
  CHECK(call(B, A) == VDN_STATUS_OVERLAP);
  CHECK(call(T.data(), T.data()) == VDN_STATUS_OVERLAP);
  CHECK(call(T.data(), T.data() + (copy.n - 1) * kMatrix) == VDN_STATUS_OVERLAP);
  CHECK(same_bits(copy.A, batch.A));
  CHECK(same_bits(copy.B, batch.B));
  CHECK(T.untouched());
  CHECK(J.untouched());
  CHECK(call(T.data(), J.data()) == VDN_STATUS_SUCCESS);
  CHECK(T.fully_written());
}

}  // namespace
}  // namespace vdn_delta::test
