// SPDX-License-Identifier: Apache-2.0
//
// Accuracy on the model's input statistics, against fp64:
//   - family silu with 1008 tokens: the fixed bar, at every beta scale;
//   - every other family, token count and shift: 1.5 x the error of the four-call chain on the same input + 1e-7;
//   - shift 8: finite;
//   - a_scale and b_scale, against the reference with scales;
//   - alpha with zeros and subnormal numbers.
#include <cmath>
#include <cstdio>
#include <limits>

#include "../support/bars.h"
#include "call.h"
#include "chain.h"

namespace vdn_delta::test {
namespace {

using support::Errors;
using support::Family;
using support::InputSpec;
using support::Reference;

InputSpec spec_of(Family family, std::int64_t n, int tokens, double beta_scale, std::uint64_t seed) {
  InputSpec spec;
  spec.family = family;
  spec.n = n;
  spec.tokens = tokens;
  spec.beta_scale = beta_scale;
  spec.seed = seed;
  return spec;
}

// What was measured belongs into the log of a run that passes, too.
void report(const std::string& what, const Errors& errors) {
  std::printf("  T %.2e (worst %.2e)  J %.2e (worst %.2e)  %s\n", errors.err_T, errors.worst_T, errors.err_J,
              errors.worst_J, what.c_str());
}

TEST_CASE("device accuracy: family silu with 1008 tokens is within the bar") {
  for (const double beta_scale : quick() ? std::vector<double>{50.0} : std::vector<double>{1.0, 50.0, 100.0}) {
    const InputSpec spec = spec_of(Family::kSilu, quick() ? 2 : 264, 1008, beta_scale, 1);
    const std::string input = support::describe(spec);
    CAPTURE(input);
    const Batch batch = made_batch(spec);
    const Reference reference = reference_of(batch);
    for (const Variant& variant : variants()) {
      CAPTURE(variant.name);
      const Result result = run(batch, call_of(variant));
      const Errors errors = errors_of(result, reference);
      report(variant.name + ": " + input, errors);
      CHECK(errors.err_T <= support::kBarT);
      CHECK(errors.err_J <= support::kBarJ);
      CHECK(errors.worst_T <= support::kBarWorst);
      CHECK(errors.worst_J <= support::kBarWorst);
      CHECK(count_nonzero(result.info) == 0);
    }
  }
}

std::vector<InputSpec> other_families() {
  const std::int64_t n = quick() ? 2 : 48;
  std::vector<InputSpec> specs;
  if (quick()) return {spec_of(Family::kSilu, n, 16, 50.0, 3)};
  for (const int tokens : {16, 64}) {
    for (const double beta_scale : {1.0, 50.0, 100.0}) {
      specs.push_back(spec_of(Family::kSilu, n, tokens, beta_scale, 3));
      specs.push_back(spec_of(Family::kNormal, n, tokens, beta_scale, 3));
    }
  }
  for (const double beta_scale : {1.0, 50.0, 100.0}) specs.push_back(spec_of(Family::kNormal, n, 1008, beta_scale, 3));
  for (const int tokens : {16, 64, 1008}) {
    specs.push_back(spec_of(Family::kShifted, n, tokens, 50.0, 3));
    specs.back().shift = 2.0;
  }
  return specs;
}

TEST_CASE("device accuracy: every other family is no worse than the four-call chain") {
  for (const InputSpec& spec : other_families()) {
    const std::string input = support::describe(spec);
    CAPTURE(input);
    const Batch batch = made_batch(spec);
    const Reference reference = reference_of(batch);
    std::string chain;
    const Errors yardstick = errors_of(run_chain(batch, &chain), reference);
    CAPTURE(chain);
    report("chain: " + input, yardstick);
    REQUIRE(std::isfinite(yardstick.err_T));
    REQUIRE(std::isfinite(yardstick.err_J));
    for (const Variant& variant : variants()) {
      CAPTURE(variant.name);
      const Result result = run(batch, call_of(variant));
      const Errors errors = errors_of(result, reference);
      report(variant.name + ": " + input, errors);
      CHECK(errors.err_T <= support::chain_bar(yardstick.err_T));
      CHECK(errors.err_J <= support::chain_bar(yardstick.err_J));
      CHECK(count_nonzero(result.info) == 0);
    }
  }
}

TEST_CASE("device accuracy: shift 8, condition 1e4, is finite") {
  for (const int tokens : quick() ? std::vector<int>{64} : std::vector<int>{64, 1008}) {
    InputSpec spec = spec_of(Family::kShifted, quick() ? 1 : 48, tokens, 50.0, 5);
    spec.shift = 8.0;
    const std::string input = support::describe(spec);
    CAPTURE(input);
    const Batch batch = made_batch(spec);
    const Reference reference = reference_of(batch);
    for (const Variant& variant : variants()) {
      CAPTURE(variant.name);
      const Result result = run(batch, call_of(variant));
      report(variant.name + ": " + input, errors_of(result, reference));
      CHECK(count_not_finite(result.T) == 0);
      CHECK(count_not_finite(result.J) == 0);
      CHECK(count_nonzero(result.info) == 0);
    }
  }
}

TEST_CASE("device accuracy: a_scale and b_scale") {
  const InputSpec spec = spec_of(Family::kSilu, quick() ? 1 : 8, 1008, 1.0, 7);
  const std::string input = support::describe(spec);
  CAPTURE(input);
  const Batch batch = made_batch(spec);
  for (const float a_scale : {0.25f, 1.0f, 30.0f}) {
    for (const float b_scale : {0.1f, 1.0f, 7.0f}) {
      if (quick() && (a_scale != 30.0f || b_scale != 0.1f)) continue;
      CAPTURE(a_scale);
      CAPTURE(b_scale);
      const Reference reference = reference_of(batch, static_cast<double>(a_scale), static_cast<double>(b_scale));
      for (const Variant& variant : variants()) {
        CAPTURE(variant.name);
        Call call = call_of(variant);
        call.a_scale = a_scale;
        call.b_scale = b_scale;
        const Errors errors = errors_of(run(batch, call), reference);
        CHECK(errors.err_T <= support::kBarT);
        CHECK(errors.err_J <= support::kBarJ);
        CHECK(errors.worst_T <= support::kBarWorst);
        CHECK(errors.worst_J <= support::kBarWorst);
      }
    }
  }
}

TEST_CASE("device accuracy: alpha scales rows, zeros and subnormal numbers too") {
  const Batch batch = model_batch(3, 8);
  Batch ones = batch, scaled = batch;
  support::Random random(9);
  for (std::size_t i = 0; i < scaled.alpha.size(); ++i) {
    const float values[] = {0.0f,   1e-40f, std::numeric_limits<float>::denorm_min(),
                            1e-38f, 1.0f,   static_cast<float>(random.uniform())};
    scaled.alpha[i] = values[random.bits() % 6];
    ones.alpha[i] = 1.0f;
  }
  for (const Variant& variant : variants()) {
    CAPTURE(variant.name);
    Call call = call_of(variant);
    const Result plain = run(ones, call), result = run(scaled, call);
    CHECK(same_bits(plain.J, result.J));
    CHECK(same_bits(plain.info, result.info));
    std::int64_t wrong = 0;
    for (std::size_t i = 0; i < result.T.size(); ++i) wrong += result.T[i] != scaled.alpha[i / kDim] * plain.T[i];
    CHECK(wrong == 0);
  }
}

}  // namespace
}  // namespace vdn_delta::test
