// SPDX-License-Identifier: Apache-2.0
//
// Special matrices and the numeric field reports:
//   - A = 0 and A = 3 I exactly; graded and huge diagonals; T symmetric to the bit; B = I gives J = T / alpha;
//   - rank one up to the norm where fp32 absorbs the identity (NUM-05); ill-conditioned alone and in a batch (NUM-06);
//   - the error class at norms 1, 100, 1e4 (NUM-08); invariants of random matrices (NUM-10);
//   - the distance between CPU and GPU (NUM-18); subnormal numbers, and inverses that are (NUM-19).
#include <algorithm>
#include <cmath>

#include "call.h"
#include "support/bars.h"
#include "support/parallel.h"

namespace vdn_delta::test {
namespace {

using support::Errors;
using support::largest_difference;
using support::Random;
using support::Reference;

double difference_of(const std::vector<float>& a, const std::vector<float>& b, std::int64_t m) {  // relative, Frobenius
  double difference = 0, size = 0;
  for (std::int64_t i = m * kMatrix; i < (m + 1) * kMatrix; ++i) {
    const double x = a[static_cast<std::size_t>(i)], y = b[static_cast<std::size_t>(i)];
    difference += (x - y) * (x - y);
    size += y * y;
  }
  return std::sqrt(difference / size);
}

std::int64_t count_asymmetric(const std::vector<float>& values) {
  std::int64_t asymmetric = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t m = i / kMatrix, row = i % kMatrix / kDim, column = i % kDim;
    asymmetric += values[i] != values[m * kMatrix + column * kDim + row];
  }
  return asymmetric;
}

TEST_CASE("device identities: A = 0 and A = 3 I exactly") {
  Random random(41);
  Batch batch = support::make_identity(2);
  support::set_random(batch.B.data(), 10.0, 2 * kMatrix, &random);
  support::set_diagonal(batch.A.data() + kMatrix, 3.0f);
  for (float& a : batch.alpha) a = static_cast<float>(random.uniform());
  for (const Variant& variant : variants()) {
    CAPTURE(variant.name);
    const Result result = run(batch, call_of(variant));
    CHECK(count_nonzero(result.info) == 0);
    std::int64_t wrong_T[2] = {0, 0}, wrong_J[2] = {0, 0};
    for (std::size_t i = 0; i < result.T.size(); ++i) {
      const std::size_t m = i / kMatrix, row = i / kDim, column = i % kDim;  // row of the batch
      const float x = m == 0 ? 1.0f : 0.25f;
      wrong_T[m] += result.T[i] != (row % kDim == column ? batch.alpha[row] * x : 0.0f);
      wrong_J[m] += result.J[i] != batch.B[i] * x;
    }
    CHECK(wrong_T[0] == 0);
    CHECK(wrong_J[0] == 0);
    CHECK(wrong_T[1] == 0);
    CHECK(wrong_J[1] == 0);
  }
}

TEST_CASE("device identities: T is symmetric to the bit, and with B = I so is J to rounding") {
  const std::int64_t n = quick() ? 2 : 40;
  Batch batch = model_batch(n, 42);
  std::fill(batch.alpha.begin(), batch.alpha.end(), 1.0f);
  for (std::int64_t m = 0; m < n; ++m) support::set_diagonal(batch.B.data() + m * kMatrix, 1.0f);
  for (const Variant& variant : variants()) {
    CAPTURE(variant.name);
    const Result result = run(batch, call_of(variant));
    CHECK(count_asymmetric(result.T) == 0);
    // Two ways to the same inverse: each within the error of this family (4e-6 at 64 tokens and scale 50).
    for (std::int64_t m = 0; m < n; ++m) {
      CAPTURE(m);
      CHECK(difference_of(result.J, result.T, m) <= 1e-5);
    }
  }
}

TEST_CASE("device identities: well-conditioned, B = I gives J = T / alpha") {
  support::InputSpec spec;
  spec.n = quick() ? 1 : 16;
  spec.seed = 43;
  Batch batch = made_batch(spec);
  std::fill(batch.alpha.begin(), batch.alpha.end(), 0.5f);
  for (std::int64_t m = 0; m < spec.n; ++m) support::set_diagonal(batch.B.data() + m * kMatrix, 1.0f);
  for (const Variant& variant : variants()) {
    CAPTURE(variant.name);
    Result result = run(batch, call_of(variant));
    for (float& x : result.T) x *= 2.0f;
    CHECK(count_asymmetric(result.T) == 0);
    for (std::int64_t m = 0; m < spec.n; ++m) {
      CAPTURE(m);
      CHECK(difference_of(result.J, result.T, m) <= 1.2e-6);  // the bars of T and J together
    }
  }
}

TEST_CASE("device identities: graded and diagonal matrices") {
  Batch batch = support::make_identity(3);
  support::set_graded(batch.A.data(), 1e-6, 1e6);
  support::set_graded(batch.A.data() + kMatrix, 1e20, 1e-20);
  support::set_diagonal(batch.A.data() + 2 * kMatrix, 1e30f);
  const Reference reference = reference_of(batch);
  for (const Variant& variant : variants()) {
    CAPTURE(variant.name);
    const Result result = run(batch, call_of(variant));
    CHECK(count_nonzero(result.info) == 0);
    std::int64_t wrong = 0;
    for (std::size_t i = 0; i < result.T.size(); ++i) {
      wrong += !(std::fabs(result.T[i] - reference.T[i]) <= 3e-7 * std::fabs(reference.T[i]));
      wrong += !(std::fabs(result.J[i] - reference.J[i]) <= 3e-7 * std::fabs(reference.J[i]));
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("NUM-05 device: rank one up to the norm where fp32 absorbs the identity") {
  for (const double scale : {1.0, 1e4, 1e6, 1e8, 1e10}) {
    CAPTURE(scale);
    Batch batch = support::make_identity(1);
    support::set_rank_one(batch.A.data(), scale);
    const Reference reference = reference_of(batch);
    std::vector<float> T(kMatrix), J(kMatrix);
    support::four_call_chain(1, batch.A.data(), batch.B.data(), batch.alpha.data(), T.data(), J.data());
    const double plain = largest_difference(T, reference.T);
    for (const Variant& variant : variants()) {
      CAPTURE(variant.name);
      const Result result = run(batch, call_of(variant));
      const double error = largest_difference(result.T, reference.T);
      CAPTURE(result.info[0]);
      CAPTURE(error);
      CAPTURE(plain);
      if (scale > 1e9) {  // 1 is less than half an ulp of the diagonal: there is nothing left to invert
        CHECK((result.info[0] != 0 || std::isnan(result.T[0])));
      } else if (std::isfinite(plain)) {
        CHECK(result.info[0] == 0);
        CHECK(error <= 10 * plain + 1e-7);
      }
    }
  }
}

TEST_CASE("NUM-06 device: ill-conditioned alone and in a batch of 512") {
  support::InputSpec spec;
  spec.tokens = 64;
  spec.beta_scale = 2e5;  // a norm of about 1e6
  spec.seed = 46;
  const Batch one = made_batch(spec);
  const Batch many = pick(one, std::vector<std::int64_t>(quick() ? 2 : 512, 0));
  for (const Variant& variant : variants()) {
    CAPTURE(variant.name);
    const Result alone = run(one, call_of(variant)), crowd = run(many, call_of(variant));
    CHECK(alone.info[0] == 0);
    CHECK(count_not_finite(alone.T) == 0);
    CHECK(count_not_finite(alone.J) == 0);
    std::int64_t different = 0;
    for (std::int64_t m = 0; m < many.n; ++m) different += !same_result(crowd, m, alone, 0);
    CHECK(different == 0);
  }
}

TEST_CASE("NUM-08, NUM-18 device: the error class of plain fp32, and the distance to the CPU path") {
  for (const double norm : {1.0, 100.0, 1e4}) {
    if (quick() && norm != 100.0) continue;
    CAPTURE(norm);
    Random random(47);
    Batch batch = support::make_identity(quick() ? 1 : 64);
    for (std::int64_t m = 0; m < batch.n; ++m) support::set_psd(batch.A.data() + m * kMatrix, norm, &random);
    support::set_random(batch.B.data(), 1.0, batch.n * kMatrix, &random);
    const Reference reference = reference_of(batch);
    const Errors yardstick = support::chain_errors(batch, reference);
    const Result host = run_host(batch);
    for (const Variant& variant : variants()) {
      CAPTURE(variant.name);
      const Result result = run(batch, call_of(variant));
      const Errors errors = errors_of(result, reference);
      // Reduced-precision products (TF32 drops 13 bits) would be far outside.
      CHECK(errors.err_T <= support::chain_bar(yardstick.err_T));
      CHECK(errors.err_J <= support::chain_bar(yardstick.err_J));
      // docs/numerics.md: both paths keep 3e-7 + 2e-8 norm against fp64.
      for (std::int64_t m = 0; m < batch.n; ++m) {
        CAPTURE(m);
        CHECK(difference_of(result.T, host.T, m) <= 2 * (3e-7 + 2e-8 * norm));
        CHECK(difference_of(result.J, host.J, m) <= 2 * (3e-7 + 2e-8 * norm));
      }
    }
  }
}

TEST_CASE("NUM-10 device: invariants of random PSD matrices of norm 1e-3 to 1e4") {
  const std::int64_t n = quick() ? 3 : 1000;
  Batch batch = support::make_identity(n);
  const auto norm_of = [n](std::int64_t m) {
    return std::pow(10.0, -3.0 + 7.0 * static_cast<double>(m) / static_cast<double>(n - 1));
  };
  support::parallel_for(n, 0, [&](std::int64_t m) {
    Random random(48, static_cast<std::uint64_t>(m));
    support::set_psd(batch.A.data() + m * kMatrix, norm_of(m), &random);
  });
  for (const Variant& variant : variants()) {
    CAPTURE(variant.name);
    const Result result = run(batch, call_of(variant));
    CHECK(count_nonzero(result.info) == 0);
    CHECK(count_asymmetric(result.T) == 0);
    for (std::int64_t m = 0; m < n; ++m) {
      const float* T = result.T.data() + m * kMatrix;
      const double norm = norm_of(m);
      CAPTURE(m);
      CAPTURE(norm);
      std::int64_t bad_diagonal = 0, bad_entry = 0;
      for (int i = 0; i < kDim; ++i) {
        bad_diagonal += !(T[i * kDim + i] > 0.0f && T[i * kDim + i] <= 1.0f);
        for (int j = 0; j < kDim; ++j) bad_entry += !(std::fabs(T[i * kDim + j]) <= 1.001f);
      }
      CHECK(bad_diagonal == 0);
      CHECK(bad_entry == 0);
      CHECK(difference_of(result.J, result.T, m) <= 1e-6 + 4e-8 * norm);
    }
  }
}

TEST_CASE("NUM-19 device: subnormal numbers are kept, as on the CPU") {
  Batch batch = support::make_identity(2);
  std::fill_n(batch.alpha.begin(), kDim, 1e-40f);
  support::set_diagonal(batch.B.data(), 1e-40f);
  support::set_diagonal(batch.A.data() + kMatrix, 3e38f);
  const Result host = run_host(batch);
  for (const Variant& variant : variants()) {
    CAPTURE(variant.name);
    const Result result = run(batch, call_of(variant));
    CHECK(count_nonzero(result.info) == 0);
    CHECK(count_not_finite(result.T) == 0);
    CHECK(count_not_finite(result.J) == 0);
    std::int64_t other_class = 0, wrong = 0;
    for (std::size_t i = 0; i < result.T.size(); ++i) {
      other_class += (result.T[i] == 0.0f) != (host.T[i] == 0.0f);
      other_class += (result.J[i] == 0.0f) != (host.J[i] == 0.0f);
      // Two steps of the subnormal grid.
      wrong += !(std::fabs(static_cast<double>(result.T[i]) - static_cast<double>(host.T[i])) <= 3e-45);
      wrong += !(std::fabs(static_cast<double>(result.J[i]) - static_cast<double>(host.J[i])) <= 3e-45);
    }
    CHECK(other_class == 0);
    CHECK(wrong == 0);
    CHECK(result.T[0] == 1e-40f);
    CHECK(result.J[0] == 1e-40f);
    CHECK(result.T[kMatrix] > 0.0f);
    CHECK(result.J[kMatrix] > 0.0f);
  }
}

}  // namespace
}  // namespace vdn_delta::test
