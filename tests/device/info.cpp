// SPDX-License-Identifier: Apache-2.0
//
// Matrices that cannot be inverted, and NaN and Inf placed on purpose; the CPU path must say the same:
//   - the order of the first bad pivot, at every place; several bad matrices in a batch, with and without info;
//   - NaN and Inf on and below the diagonal (NUM-01), zero pivots, negative definite (NUM-04), overflow in a_scale A;
//   - NaN and Inf in B and alpha (CPU-12).
#include <cmath>
#include <cstring>
#include <limits>

#include "call.h"

namespace vdn_delta::test {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

float& at(std::vector<float>& values, std::int64_t m, int row, int column) {
  return values[static_cast<std::size_t>(m * kMatrix + row * kDim + column)];
}

// `batch` is `good` with some matrices damaged: `orders` are their first bad pivots, 0 for the good ones. With and
// without info, aligned and not, and on the CPU: the damaged ones are NaN throughout, the others have the bits of a
// batch without damage.
void check_orders(const Batch& batch, const Batch& good, const std::vector<std::int32_t>& orders) {
  for (const Variant& variant : variants()) {
    CAPTURE(variant.name);
    Call call = call_of(variant);
    const Result before = run(good, call);
    REQUIRE(count_nonzero(before.info) == 0);
    const auto check = [&](const Result& after, bool compare_bits) {
      for (std::int64_t m = 0; m < batch.n; ++m) {
        const std::int32_t order = orders[static_cast<std::size_t>(m)];
        CAPTURE(m);
        CAPTURE(order);
        if (!after.info.empty()) CHECK(after.info[static_cast<std::size_t>(m)] == order);
        if (order != 0) {
          CHECK(all_quiet_nan(after.T, m));
          CHECK(all_quiet_nan(after.J, m));
        } else if (compare_bits) {
          CHECK(same_matrix(after.T, m, before.T, m));
          CHECK(same_matrix(after.J, m, before.J, m));
        }
      }
    };
    for (const int offset : {0, 1}) {
      for (const bool with_info : {true, false}) {
        if (quick() && with_info == (offset == 1)) continue;
        CAPTURE(offset);
        CAPTURE(with_info);
        call.offsets = {offset, offset, offset, offset, offset, offset};
        call.with_info = with_info;
        check(run(batch, call), true);
      }
    }
    const std::string host = "CPU path";
    CAPTURE(host);
    check(run_host(batch), false);
  }
}

TEST_CASE("device info: the order of the first bad pivot") {
  // Matrix m breaks at order m + 1; in the full run every order there is, good matrices between them.
  std::vector<std::int32_t> orders;
  if (quick()) {
    orders = {9, 0, 128};
  } else {
    for (std::int32_t order = 1; order <= kDim; ++order) {
      orders.push_back(order);
      if (order % 3 == 0) orders.push_back(0);
    }
  }
  const Batch good = model_batch(static_cast<std::int64_t>(orders.size()), 31);
  Batch batch = good;
  for (std::size_t m = 0; m < orders.size(); ++m) {
    float* A = batch.A.data() + static_cast<std::int64_t>(m) * kMatrix;
    if (orders[m] != 0) support::break_pivot(A, orders[m]);
    // A later bad pivot is not reported.
    if (orders[m] != 0 && orders[m] < kDim && m % 2 == 1) support::break_pivot(A, orders[m] + 1);
  }
  check_orders(batch, good, orders);
}

TEST_CASE("device info: bad matrices one after the other on the same CTA") {
  const std::int64_t wave = multiprocessors();
  if (quick()) return;  // bitwise.cpp has two such matrices in every run
  const Batch good = model_batch(4 * wave + 7, 32);
  Batch batch = good;
  std::vector<std::int32_t> orders(static_cast<std::size_t>(batch.n), 0);
  const auto damage = [&](std::int64_t m, std::int32_t order) {
    orders[static_cast<std::size_t>(m)] = order;
    support::break_pivot(batch.A.data() + m * kMatrix, order);
  };
  // CTA 0: bad, good, bad, bad, good.  CTA 1: the last two.  CTA 2: the first three.  CTA 8: its last one (of four).
  for (const std::int64_t i : {0, 2, 3}) damage(i * wave, static_cast<std::int32_t>(1 + 42 * i));
  for (const std::int64_t i : {3, 4}) damage(i * wave + 1, static_cast<std::int32_t>(8 * i));
  for (const std::int64_t i : {0, 1, 2}) damage(i * wave + 2, 128);
  damage(3 * wave + 8, 65);
  check_orders(batch, good, orders);
}

TEST_CASE("NUM-01 device info: NaN, Inf and zero pivots") {
  const std::vector<std::int32_t> places =
      quick() ? std::vector<std::int32_t>{17} : std::vector<std::int32_t>{1, 8, 9, 16, 17, 64, 65, 128};
  Batch good = model_batch(static_cast<std::int64_t>(places.size()) * 6 + 4, 33);
  Batch batch = good;
  std::vector<std::int32_t> orders;
  std::int64_t m = 0;
  for (const std::int32_t order : places) {
    const int p = order - 1;
    for (const float value : {kNan, kInf, -kInf}) {
      at(batch.A, m++, p, p) = value;
      orders.push_back(order);
    }
    // Below the diagonal it is found when its row comes up, as -Inf or NaN in the pivot.
    for (const float value : {kNan, kInf}) {
      if (p > 0) at(batch.A, m, p, p / 2) = value;
      orders.push_back(p > 0 ? order : 0);
      ++m;
    }
    // Zero: row and column of the identity with -1 on the diagonal, so that the pivot is exactly 1 - 1.
    for (int i = 0; i < kDim; ++i) at(batch.A, m, i, p) = at(batch.A, m, p, i) = 0.0f;
    at(batch.A, m++, p, p) = -1.0f;
    orders.push_back(order);
  }
  // A matrix of nothing but NaN; all zero pivots; negative definite (NUM-04); a good one.
  for (std::int64_t i = 0; i < kMatrix; ++i) batch.A[static_cast<std::size_t>(m * kMatrix + i)] = kNan;
  support::set_diagonal(batch.A.data() + (m + 1) * kMatrix, -1.0f);
  support::set_diagonal(batch.A.data() + (m + 2) * kMatrix, -3.0f);
  orders.insert(orders.end(), {1, 1, 1, 0});
  check_orders(batch, good, orders);
}

TEST_CASE("device info: overflow in a_scale A is a bad pivot, the largest finite one is not") {
  Batch batch = support::make_identity(1);
  support::set_diagonal(batch.A.data(), 3e38f);
  for (const Variant& variant : variants()) {
    CAPTURE(variant.name);
    Call call = call_of(variant);
    CHECK(run(batch, call).info[0] == 0);
    call.a_scale = 2.0f;
    const Result result = run(batch, call), host = run_host(batch, call);
    CHECK(result.info[0] == 1);
    CHECK(host.info[0] == 1);
    CHECK(all_quiet_nan(result.T, 0));
    CHECK(all_quiet_nan(result.J, 0));
  }
}

TEST_CASE("CPU-12 device info: NaN in B reaches one row of J only, NaN in alpha one row of T") {
  const Batch good = model_batch(2, 34);
  const std::vector<int> rows = quick() ? std::vector<int>{17} : std::vector<int>{0, 17, 31, 32, 127};
  const std::vector<int> columns = quick() ? std::vector<int>{70} : std::vector<int>{0, 7, 8, 70, 127};
  for (const Variant& variant : variants()) {
    CAPTURE(variant.name);
    Call call = call_of(variant);
    const Result before = run(good, call);
    // Row `row` of matrix 1 is NaN (or not finite, where Inf went in), everything else is as before.
    const auto count_wrong = [](const std::vector<float>& values, const std::vector<float>& plain, int row, bool nan) {
      std::int64_t wrong = 0;
      for (std::int64_t i = 0; i < 2 * kMatrix; ++i) {
        const float x = values[static_cast<std::size_t>(i)];
        if (i / kDim == kDim + row) {
          wrong += nan ? !std::isnan(x) : std::isfinite(x);
        } else {
          wrong += std::memcmp(&x, &plain[static_cast<std::size_t>(i)], 4) != 0;
        }
      }
      return wrong;
    };
    const Result host_before = run_host(good);
    for (const int row : rows) {
      CAPTURE(row);
      for (const int column : columns) {
        CAPTURE(column);
        for (const float value : {kNan, kInf}) {
          if (quick() && value == kInf) continue;
          CAPTURE(value);
          Batch batch = good;
          at(batch.B, 1, row, column) = value;
          const Result result = run(batch, call), host = run_host(batch);
          CHECK(count_nonzero(result.info) == 0);
          CHECK(same_bits(result.T, before.T));
          CHECK(count_wrong(result.J, before.J, row, std::isnan(value)) == 0);
          CHECK(count_wrong(host.J, host_before.J, row, std::isnan(value)) == 0);
        }
      }
      Batch batch = good;
      batch.alpha[static_cast<std::size_t>(kDim + row)] = kNan;
      const Result result = run(batch, call), host = run_host(batch);
      CHECK(count_nonzero(result.info) == 0);
      CHECK(same_bits(result.J, before.J));
      CHECK(count_wrong(result.T, before.T, row, true) == 0);
      CHECK(count_wrong(host.T, host_before.T, row, true) == 0);
    }
  }
}

}  // namespace
}  // namespace vdn_delta::test
