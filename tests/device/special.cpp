// SPDX-License-Identifier: Apache-2.0
//
// Matrices at the edges of what fp32 and the contract hold, each with the outcome that the CPU path has:
//   - indefinite ones, flagged at the pivot that fp64 finds (NUM-04), at 1, 2, 7, 8, 9, 64, 65, 127, 128 (NUM-01);
//   - huge, up to FLT_MAX on the diagonal, and subnormal entries (NUM-05, NUM-19); -0;
//   - barely asymmetric ones: the lower triangle decides (NUM-11);
//   - Inf on the diagonal, NaN in B or alpha (CPU-12);
//   - all of them in one batch: each good matrix has the bits that it has without the others (NUM-17).
#include <algorithm>
#include <cfloat>
#include <cmath>
#include <limits>

#include "call.h"

namespace vdn_delta::test {
namespace {

using support::Random;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

// The order of the first pivot of I + A that is not positive, in fp64; 0 if there is none. `margin` is the smallest
// size of a pivot up to there, relative to its diagonal entry: far above the rounding of fp32, the order is certain.
int first_bad_pivot(const float* A, double* margin) {
  std::vector<double> S(static_cast<std::size_t>(kMatrix));
  for (int i = 0; i < kDim; ++i)
    for (int j = 0; j <= i; ++j)
      S[static_cast<std::size_t>(i * kDim + j)] = static_cast<double>(A[i * kDim + j]) + (i == j ? 1.0 : 0.0);
  *margin = 1;
  for (int p = 0; p < kDim; ++p) {
    const double pivot = S[static_cast<std::size_t>(p * kDim + p)];
    const double entry = static_cast<double>(A[p * kDim + p]) + 1.0;
    *margin = std::min(*margin, std::fabs(pivot) / std::max(1.0, std::fabs(entry)));
    if (!(pivot > 0)) return p + 1;
    for (int i = p + 1; i < kDim; ++i) {
      const double factor = S[static_cast<std::size_t>(i * kDim + p)] / pivot;
      for (int j = p + 1; j <= i; ++j)
        S[static_cast<std::size_t>(i * kDim + j)] -= factor * S[static_cast<std::size_t>(j * kDim + p)];
    }
  }
  return 0;
}

// One matrix: flagged with NaN throughout, or not, on the CPU and by every variant alike.
void check_outcome(const Result& result, const Result& host, std::int64_t m, std::int32_t order) {
  CAPTURE(m);
  CHECK(result.info[static_cast<std::size_t>(m)] == order);
  CHECK(host.info[static_cast<std::size_t>(m)] == order);
  CHECK(all_quiet_nan(result.T, m) == (order != 0));
  CHECK(all_quiet_nan(result.J, m) == (order != 0));
  CHECK(all_quiet_nan(host.T, m) == (order != 0));
  CHECK(all_quiet_nan(host.J, m) == (order != 0));
}

TEST_CASE("NUM-04 device special: indefinite matrices are flagged at the pivot that fp64 finds, as on the CPU") {
  const std::int64_t n = quick() ? 2 : 24;
  Batch batch = model_batch(n, 141);
  std::vector<std::int32_t> orders;
  for (std::int64_t m = 0; m < n; ++m) {
    float* A = batch.A.data() + m * kMatrix;
    Random random(142, static_cast<std::uint64_t>(m));
    support::set_psd(A, 40.0, &random);
    // The eigenvalues go from 0 to 40: part of them gets below -1.
    for (int i = 0; i < kDim; ++i) A[i * kDim + i] -= static_cast<float>(2.0 + 0.5 * static_cast<double>(m));
    double margin = 0;
    const int order = first_bad_pivot(A, &margin);
    CAPTURE(m);
    CAPTURE(margin);
    REQUIRE(order > 0);
    REQUIRE(margin > 1e-4);  // or else the seed is no good
    orders.push_back(order);
  }
  const Result host = run_host(batch);
  for (const Variant& variant : variants()) {
    CAPTURE(variant.name);
    const Result result = run(batch, call_of(variant));
    for (std::int64_t m = 0; m < n; ++m) check_outcome(result, host, m, orders[static_cast<std::size_t>(m)]);
  }
}

TEST_CASE("NUM-01 device special: info is exact at the edges of blocks") {
  const std::vector<std::int32_t> orders = {1, 2, 7, 8, 9, 64, 65, 127, 128};
  const auto n = static_cast<std::int64_t>(orders.size());
  const Batch good = model_batch(n + 1, 143);
  Batch negative = good, nan = good, infinite = good;
  for (std::int64_t m = 0; m < n; ++m) {
    const int p = orders[static_cast<std::size_t>(m)] - 1;
    support::break_pivot(negative.A.data() + m * kMatrix, p + 1);
    nan.A[static_cast<std::size_t>(m * kMatrix + p * kDim + p)] = kNan;
    infinite.A[static_cast<std::size_t>(m * kMatrix + p * kDim + p)] = kInf;
  }
  for (const Variant& variant : variants()) {
    CAPTURE(variant.name);
    const Result plain = run(good, call_of(variant));
    for (const Batch* batch : {&negative, &nan, &infinite}) {
      const std::string what = batch == &negative ? "negative" : batch == &nan ? "NaN" : "Inf";
      CAPTURE(what);
      const Result result = run(*batch, call_of(variant)), host = run_host(*batch);
      for (std::int64_t m = 0; m < n; ++m) check_outcome(result, host, m, orders[static_cast<std::size_t>(m)]);
      CHECK(same_result(result, n, plain, n));
    }
  }
}

TEST_CASE("NUM-05, NUM-19 device special: huge and subnormal matrices are as good as plain fp32") {
  Batch batch = support::make_identity(3);
  Random random(144);
  support::set_psd(batch.A.data(), 1e30, &random);
  support::set_psd(batch.A.data() + kMatrix, 1e36, &random);
  support::set_psd(batch.A.data() + 2 * kMatrix, 1e-36, &random);  // entries from 1e-38 down are subnormal
  support::set_random(batch.B.data(), 1.0, 3 * kMatrix, &random);
  for (std::int64_t m = 0; m < 3; ++m) {
    CAPTURE(m);
    const Batch one = slice(batch, m, 1);
    const support::Reference reference = reference_of(one);
    const support::Errors plain = support::chain_errors(one, reference);
    const Result host = run_host(one);
    CHECK(host.info[0] == 0);
    for (const Variant& variant : variants()) {
      CAPTURE(variant.name);
      const Result result = run(one, call_of(variant));
      const support::Errors errors = errors_of(result, reference);
      CAPTURE(plain.err_T);
      CAPTURE(plain.err_J);
      CHECK(result.info[0] == 0);
      CHECK(errors.err_T <= 10 * plain.err_T + 1e-6);
      CHECK(errors.err_J <= 10 * plain.err_J + 1e-6);
    }
  }
}

TEST_CASE("NUM-19 device special: FLT_MAX on the diagonal, subnormal everything, and -0") {
  Batch batch = support::make_identity(3);
  support::set_diagonal(batch.A.data(), FLT_MAX);
  for (int i = 0; i < kDim; ++i) {
    for (int j = 0; j < kDim; ++j) batch.A[static_cast<std::size_t>(kMatrix + i * kDim + j)] = i == j ? 1e-40f : 2e-41f;
  }
  std::fill_n(batch.A.begin() + 2 * kMatrix, kMatrix, -0.0f);
  const Result host = run_host(batch);
  for (const Variant& variant : variants()) {
    CAPTURE(variant.name);
    const Result result = run(batch, call_of(variant));
    CHECK(count_nonzero(result.info) == 0);
    CHECK(count_nonzero(host.info) == 0);
    std::int64_t wrong = 0;
    for (std::size_t i = 0; i < result.T.size(); ++i) {  // two steps of the subnormal grid
      wrong += !(std::fabs(static_cast<double>(result.T[i]) - static_cast<double>(host.T[i])) <= 3e-45);
      wrong += !(std::fabs(static_cast<double>(result.J[i]) - static_cast<double>(host.J[i])) <= 3e-45);
    }
    CHECK(wrong == 0);
    CHECK(result.T[0] > 0.0f);  // 1 / FLT_MAX, which is subnormal
    CHECK(result.T[static_cast<std::size_t>(2 * kMatrix)] == 1.0f);
    CHECK(result.T[static_cast<std::size_t>(2 * kMatrix + 1)] == 0.0f);
  }
}

TEST_CASE("NUM-11 device special: barely asymmetric, the lower triangle decides") {
  const Batch batch = model_batch(1, 145);
  Batch upper = batch, lower = batch, both = batch;
  upper.A[3 * kDim + 100] += 1e-2f;
  lower.A[100 * kDim + 3] += 1e-2f;
  both.A[3 * kDim + 100] += 1e-2f;
  both.A[100 * kDim + 3] += 1e-2f;
  for (const Variant& variant : variants()) {
    CAPTURE(variant.name);
    const Call call = call_of(variant);
    const Result plain = run(batch, call), with_upper = run(upper, call), with_lower = run(lower, call),
                 with_both = run(both, call);
    CHECK(count_different(with_upper, plain) == 0);
    CHECK(count_different(with_lower, with_both) == 0);
    CHECK(count_different(with_lower, plain) == 1);  // the entry counts at all
  }
}

TEST_CASE(
    "CPU-12, NUM-17 device special: a batch of everything: outcomes as on the CPU, good ones with their own bits") {
  // Every second matrix is a good one.
  const std::int64_t kinds = 8, n = 2 * kinds + 1;
  const Batch good = model_batch(n, 146);
  Batch batch = good;
  const auto matrix = [](std::vector<float>& values, std::int64_t kind) {
    return values.data() + (2 * kind + 1) * kMatrix;
  };
  std::fill_n(matrix(batch.A, 0), kMatrix, kNan);
  std::fill_n(matrix(batch.A, 1), kMatrix, kInf);
  std::fill_n(matrix(batch.A, 2), kMatrix, -kInf);
  std::fill_n(matrix(batch.A, 3), kMatrix, 1e30f);
  support::set_diagonal(matrix(batch.A, 4), -3.0f);
  matrix(batch.A, 5)[100 * kDim + 100] = kInf;
  matrix(batch.B, 6)[17 * kDim + 70] = kNan;
  batch.alpha[static_cast<std::size_t>((2 * 7 + 1) * kDim + 31)] = kNan;
  const Result host = run_host(batch);
  for (const Variant& variant : variants()) {
    CAPTURE(variant.name);
    const Result plain = run(good, call_of(variant)), result = run(batch, call_of(variant));
    for (std::int64_t m = 0; m < n; m += 2) {
      CAPTURE(m);
      CHECK(same_result(result, m, plain, m));
    }
    for (const std::int64_t kind : {0, 1, 2, 4}) check_outcome(result, host, 2 * kind + 1, 1);
    // A block of 1e30: the second pivot cancels, to zero or to what rounding leaves.
    const auto absorbed = static_cast<std::size_t>(2 * 3 + 1);
    CHECK(result.info[absorbed] != 0);
    CHECK(host.info[absorbed] != 0);
    check_outcome(result, host, 2 * 5 + 1, 101);
    for (std::size_t i = 0; i < result.T.size(); ++i) {
      const std::int64_t m = static_cast<std::int64_t>(i) / kMatrix, row = static_cast<std::int64_t>(i) / kDim % kDim;
      if (m != 2 * 6 + 1 && m != 2 * 7 + 1) continue;
      const bool in_J = m == 2 * 6 + 1 && row == 17, in_T = m == 2 * 7 + 1 && row == 31;
      if (std::isnan(result.J[i]) == in_J && std::isnan(host.J[i]) == in_J && std::isnan(result.T[i]) == in_T &&
          std::isnan(host.T[i]) == in_T)
        continue;
      CAPTURE(i);
      CHECK_MESSAGE(false, "a NaN that went astray, or did not arrive");
      break;
    }
  }
}

}  // namespace
}  // namespace vdn_delta::test
