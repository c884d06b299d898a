// SPDX-License-Identifier: Apache-2.0
//
// The tests' own tools, tested: generators against known statistics, the oracle against its definition, the guards
// against deliberate damage.
#include <doctest/doctest.h>

#include <Eigen/Eigenvalues>
#include <cmath>
#include <limits>

#include "support/guard.h"
#include "support/inputs.h"
#include "support/oracle.h"

namespace vdn_delta::support {
namespace {

using Square = Eigen::Matrix<double, kDim, kDim, Eigen::RowMajor>;
using SquareFloat = Eigen::Matrix<float, kDim, kDim, Eigen::RowMajor>;

struct Spectrum {
  double low, high;
};

Spectrum spectrum(const float* A) {
  const Square M = Eigen::Map<const SquareFloat>(A).cast<double>() + Square::Identity();
  const Eigen::SelfAdjointEigenSolver<Square> solver(M, Eigen::EigenvaluesOnly);
  return {solver.eigenvalues().minCoeff(), solver.eigenvalues().maxCoeff()};
}

TEST_CASE("inputs: the spectra of family silu") {
  // Known from the model's own generator in fp64: the largest value of a small batch, so a little above our mean, by
  // one to two standard deviations (12 %, 7 %, 1.6 % of the mean at 16, 64, 1008 tokens).
  constexpr int kCount = 8;
  struct Row {
    int tokens;
    double beta_scale, low, high;
  };
  for (const Row row :
       {Row{16, 1, 1, 2.7}, Row{16, 50, 1, 88}, Row{16, 100, 1, 174}, Row{64, 1, 1, 5.7}, Row{64, 50, 1, 238},
        Row{64, 100, 1, 475}, Row{1008, 1, 2.4, 65}, Row{1008, 50, 72, 3200}, Row{1008, 100, 144, 6400}}) {
    InputSpec spec;
    spec.n = kCount;
    spec.tokens = row.tokens;
    spec.beta_scale = row.beta_scale;
    const std::string input = describe(spec);
    CAPTURE(input);
    const Batch batch = make_batch(spec);
    Spectrum mean = {0, 0};
    for (int m = 0; m < kCount; ++m) {
      const Spectrum one = spectrum(batch.A.data() + m * kMatrix);
      mean.low += one.low / kCount;
      mean.high += one.high / kCount;
    }
    CHECK(mean.low == doctest::Approx(row.low).epsilon(0.06));
    CHECK(mean.high == doctest::Approx(row.high).epsilon(row.tokens == 16 ? 0.2 : row.tokens == 64 ? 0.12 : 0.05));
  }
}

TEST_CASE("inputs: the largest eigenvalue follows from the mean of k") {
  // With many tokens A is tokens * E(beta) * E(k)^2 along the mean direction, where E(silu)^2 / E(silu^2) = 0.1211.
  InputSpec spec;
  spec.n = 8;
  double high = 0;
  const Batch batch = make_batch(spec);
  for (int m = 0; m < 8; ++m) high += spectrum(batch.A.data() + m * kMatrix).high / 8;
  CHECK(high == doctest::Approx(1.0 + 1008 * 0.5 * 0.1211).epsilon(0.03));
}

TEST_CASE("inputs: the condition of family shifted") {
  InputSpec spec;
  spec.family = Family::kShifted;
  spec.beta_scale = 50;
  spec.shift = 2;
  Spectrum s = spectrum(make_batch(spec).A.data());
  CHECK(s.high / s.low > 500);
  CHECK(s.high / s.low < 2000);
  spec.shift = 8;
  s = spectrum(make_batch(spec).A.data());
  CHECK(s.high / s.low > 5000);
  CHECK(s.high / s.low < 20000);
}

TEST_CASE("inputs: a matrix depends on seed and index alone") {
  InputSpec spec;
  spec.tokens = 100;
  spec.n = 5;
  const Batch five = make_batch(spec, 1), again = make_batch(spec, 3);
  CHECK(same_bits(five.A, again.A));
  CHECK(same_bits(five.B, again.B));
  CHECK(same_bits(five.alpha, again.alpha));
  spec.n = 2;
  const Batch two = make_batch(spec);
  CHECK(std::equal(two.A.begin(), two.A.end(), five.A.begin()));
  CHECK(std::equal(two.B.begin(), two.B.end(), five.B.begin()));
  CHECK(std::equal(two.alpha.begin(), two.alpha.end(), five.alpha.begin()));
  // Neither two matrices nor two seeds nor two families are alike.
  CHECK_FALSE(std::equal(five.A.begin(), five.A.begin() + kMatrix, five.A.begin() + kMatrix));
  spec.seed = 2;
  CHECK_FALSE(same_bits(make_batch(spec).A, two.A));
  spec.seed = 1;
  spec.family = Family::kNormal;
  CHECK_FALSE(same_bits(make_batch(spec).A, two.A));
}

TEST_CASE("inputs: alpha, symmetry and the normal distribution") {
  InputSpec spec;
  spec.tokens = 16;
  spec.n = 20;
  const Batch batch = make_batch(spec);
  double mean = 0;
  for (std::int64_t i = 0; i < batch.n * kDim; ++i) {
    if (i < kDim) CHECK(batch.alpha[static_cast<std::size_t>(i)] == 1.0f);
    CHECK(batch.alpha[static_cast<std::size_t>(i)] >= 0.1f);
    CHECK(batch.alpha[static_cast<std::size_t>(i)] <= 1.0f);
    if (i >= kDim) mean += batch.alpha[static_cast<std::size_t>(i)] / static_cast<double>((batch.n - 1) * kDim);
  }
  CHECK(mean == doctest::Approx(0.55).epsilon(0.03));
  int asymmetric = 0;
  for (int i = 0; i < kDim; ++i) {
    for (int j = 0; j < i; ++j) {
      asymmetric += batch.A[static_cast<std::size_t>(i * kDim + j)] != batch.A[static_cast<std::size_t>(j * kDim + i)];
    }
  }
  CHECK(asymmetric == 0);

  Random random(7);
  constexpr int kCount = 200000;
  double m1 = 0, m2 = 0, m4 = 0, lag = 0, last = 0;
  for (int i = 0; i < kCount; ++i) {
    const double x = random.normal();
    m1 += x / kCount;
    m2 += x * x / kCount;
    m4 += x * x * x * x / kCount;
    lag += x * last / kCount;
    last = x;
  }
  CHECK(std::fabs(m1) < 0.01);
  CHECK(m2 == doctest::Approx(1.0).epsilon(0.02));
  CHECK(m4 == doctest::Approx(3.0).epsilon(0.05));
  CHECK(std::fabs(lag) < 0.01);
}

TEST_CASE("oracle: the reference satisfies its definition") {
  InputSpec spec;
  spec.n = 2;
  spec.tokens = 200;
  spec.beta_scale = 20;
  const Batch batch = make_batch(spec);
  const double a = 0.5, b = 3.0;
  const Reference reference = solve_reference(2, batch.A.data(), batch.B.data(), batch.alpha.data(), a, b);
  for (int m = 0; m < 2; ++m) {
    const Square M =
        a * Eigen::Map<const SquareFloat>(batch.A.data() + m * kMatrix).cast<double>() + Square::Identity();
    const Square B = b * Eigen::Map<const SquareFloat>(batch.B.data() + m * kMatrix).cast<double>();
    const Square T = Eigen::Map<const Square>(reference.T.data() + m * kMatrix);
    const Square J = Eigen::Map<const Square>(reference.J.data() + m * kMatrix);
    Square alpha = Square::Zero();
    for (int i = 0; i < kDim; ++i) alpha(i, i) = batch.alpha[static_cast<std::size_t>(m * kDim + i)];
    CHECK((T * M - alpha).norm() < 1e-12 * kDim);
    CHECK((J * M - B).norm() < 1e-12 * B.norm());
  }
}

TEST_CASE("oracle: compare measures what it says") {
  const Batch batch = make_identity(2);
  const Reference reference = solve_reference(2, batch.A.data(), batch.B.data(), batch.alpha.data());
  std::vector<float> T = batch.B, J = batch.B;
  Errors errors = compare(2, T.data(), J.data(), reference);
  CHECK(errors.worst_T == 0.0);
  CHECK(errors.err_J == 0.0);
  T[kMatrix] = 1.5f;  // one entry of the second matrix, whose norm is sqrt(128)
  errors = compare(2, T.data(), J.data(), reference);
  CHECK(errors.worst_T == doctest::Approx(0.5 / std::sqrt(128.0)));
  CHECK(errors.err_T == doctest::Approx(0.5 / std::sqrt(256.0)));
  CHECK(errors.err_J == 0.0);
  J[5] = std::numeric_limits<float>::quiet_NaN();
  errors = compare(2, T.data(), J.data(), reference);
  CHECK(std::isinf(errors.err_J));
  CHECK(std::isinf(errors.worst_J));
  T[7] = std::numeric_limits<float>::infinity();
  CHECK(std::isinf(compare(2, T.data(), J.data(), reference).err_T));
}

TEST_CASE("oracle: the four-call chain is a fp32 result of the same thing") {
  InputSpec spec;
  spec.n = 4;
  const Batch batch = make_batch(spec);
  std::vector<float> T(batch.A.size()), J(batch.A.size());
  four_call_chain(4, batch.A.data(), batch.B.data(), batch.alpha.data(), T.data(), J.data());
  const Errors errors =
      compare(4, T.data(), J.data(), solve_reference(4, batch.A.data(), batch.B.data(), batch.alpha.data()));
  // A yardstick that is too good or too bad would make the tests that use it wrong.
  CHECK(errors.err_T > 1e-7);
  CHECK(errors.err_T < 5e-7);
  CHECK(errors.err_J > 3e-7);
  CHECK(errors.err_J < 1.5e-6);
}

TEST_CASE("guard: notices a write outside, a missing write, a changed input") {
  for (int offset = 0; offset < 4; ++offset) {
    Guarded<float> buffer(100, offset);
    CHECK(reinterpret_cast<std::uintptr_t>(buffer.data()) % 64 == static_cast<std::uintptr_t>(offset) * 4);
    CHECK(buffer.untouched());
    CHECK_FALSE(buffer.fully_written());
    for (int i = 0; i < 100; ++i) buffer.data()[i] = static_cast<float>(i);
    CHECK(buffer.fully_written());
    CHECK(buffer.guards_intact());
    CHECK_FALSE(buffer.untouched());
    const std::vector<float> values = buffer.values();
    CHECK(buffer.holds(values));
    buffer.data()[99] = -1.0f;
    CHECK_FALSE(buffer.holds(values));
    for (const int outside : {-1, 100}) {
      Guarded<float> damaged(100, offset);
      damaged.data()[outside] = 0.0f;
      CHECK_FALSE(damaged.guards_intact());
    }
  }
}

}  // namespace
}  // namespace vdn_delta::support
