// SPDX-License-Identifier: Apache-2.0
//
// Fuzz target: the CPU path on any bits. An input is a way in (the public function or an instruction-set level that
// this processor has), up to three matrices of some kind, scales, places in memory, and words that are put anywhere
// into A, B and alpha. Then:
//   - inputs stay as they are, nothing is written beside the outputs, every output word is written;
//   - the same bits again: with other threads, at other alignments, with other bits in the strict upper triangle of A,
//     and each matrix alone;
//   - info is in 0 .. 128; where it is not 0, all of T and J is the one quiet NaN; it is 1 exactly where the first
//   pivot,
//     which can be seen, is bad; no later than the first bad word of the diagonal; and 0, with finite results, where
//     the diagonal is dominant;
//   - scales that are refused leave everything as it was.
#include <vdn_delta/vdn_delta.h>

#include <cfloat>
#include <cmath>
#include <vector>

#include "../../src/cpu/cpu.h"
#include "../support/guard.h"
#include "bytes.h"

namespace vdn_delta::fuzz {
namespace {

using support::Guarded;
using support::same_bits;

constexpr int kDim = 128, kMatrix = kDim * kDim;
constexpr std::uint32_t kQuietNan = 0x7fc00000u;

// xorshift: bits for what the input does not spell out.
struct Random {
  std::uint64_t state;
  std::uint32_t word() {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return static_cast<std::uint32_t>(state >> 16);
  }
  float any_bits() {
    const std::uint32_t bits = word();
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }
  float small() { return static_cast<float>(static_cast<std::int32_t>(word())) * 0x1p-34f; }  // within 1/8
};

struct Problem {
  std::int64_t n = 0;
  std::vector<float> A, B, alpha;
  float a_scale = 1.0f, b_scale = 1.0f;
};

void fill(Problem* problem, std::int64_t m, unsigned kind, Random random) {
  float* const A = problem->A.data() + m * kMatrix;
  float* const B = problem->B.data() + m * kMatrix;
  for (int i = 0; i < kMatrix; ++i) {
    A[i] = kind == 0 ? 0.0f : kind == 1 ? random.any_bits() : random.small();
    B[i] = kind == 1 ? random.any_bits() : random.small();
  }
  for (int i = 0; i < kDim; ++i) {
    problem->alpha[static_cast<std::size_t>(m * kDim + i)] = kind == 1 ? random.any_bits() : 1.0f + random.small();
    if (kind == 2) A[i * kDim + i] = 40.0f;                         // dominant
    if (kind == 3) A[i * kDim + i] = static_cast<float>(i) * 0.1f;  // perhaps
  }
}

float some_scale(Bytes& bytes) { return bytes.below(4) == 0 ? bytes.take<float>() : 1.0f; }

Problem some_problem(Bytes& bytes) {
  Problem problem;
  problem.n = bytes.below(4);
  problem.a_scale = some_scale(bytes);
  problem.b_scale = some_scale(bytes);
  const auto n = static_cast<std::size_t>(problem.n);
  problem.A.resize(n * kMatrix);
  problem.B.resize(n * kMatrix);
  problem.alpha.resize(n * kDim);
  const std::uint64_t seed = bytes.take<std::uint32_t>() | std::uint64_t{1} << 40;
  for (std::int64_t m = 0; m < problem.n; ++m)
    fill(&problem, m, bytes.below(4), {seed + static_cast<std::uint64_t>(m) * 977});
  while (!bytes.empty() && n > 0) {
    std::vector<float>& array = bytes.below(2) == 0 ? problem.A : bytes.below(2) == 0 ? problem.B : problem.alpha;
    // Near the diagonal or anywhere.
    std::size_t place = bytes.take<std::uint16_t>();
    if (&array == &problem.A && bytes.below(2) == 0) place = place % kDim * (kDim + 1) + place / kDim % n * kMatrix;
    array[place % array.size()] = bytes.take<float>();
  }
  return problem;
}

struct Result {
  vdn_status_t status = VDN_STATUS_SUCCESS;
  std::vector<float> T, J;
  std::vector<std::int32_t> info;
};

struct How {
  bool is_public;
  cpu::Level level;
  int threads, offset;
};

Result run(const Problem& problem, const How& how) {
  const auto shift = [&](int by) { return how.offset * by % 16; };
  Guarded<float> A(problem.A, shift(1)), B(problem.B, shift(3)), alpha(problem.alpha, shift(5)),
      T(problem.n * kMatrix, shift(7)), J(problem.n * kMatrix, shift(9));
  Guarded<std::int32_t> info(problem.n, shift(11));
  Result result;
  if (how.is_public) {
    vdn_delta_options_t options = VDN_DELTA_OPTIONS_INIT;
    options.a_scale = problem.a_scale;
    options.b_scale = problem.b_scale;
    options.info = info.data();
    result.status =
        vdn_delta_factors_host(problem.n, A.data(), B.data(), alpha.data(), T.data(), J.data(), &options, how.threads);
  } else {
    const Params params = {A.data(),    B.data(),  alpha.data(),    T.data(),       J.data(),
                           info.data(), problem.n, problem.a_scale, problem.b_scale};
    require(cpu::factors(params, how.threads, how.level), "there is memory");
  }
  if (problem.n > 0) {
    if (seeded_fault() == 1) J.data()[problem.n * kMatrix] = 0.0f;
    if (seeded_fault() == 2) B.data()[77] += 1.0f;
    if (seeded_fault() == 3) T.data()[1] = A.data()[1];  // as if the upper triangle were read
    if (seeded_fault() == 4) info.data()[0] = 3;
    if (seeded_fault() == 5 && how.threads == 2) J.data()[0] += 1.0f;
  }
  require(A.holds(problem.A) && B.holds(problem.B) && alpha.holds(problem.alpha), "inputs are not written");
  require(A.guards_intact() && B.guards_intact() && alpha.guards_intact(), "nothing is written beside the inputs");
  require(T.guards_intact() && J.guards_intact() && info.guards_intact(), "nothing is written beside the outputs");
  if (result.status == VDN_STATUS_SUCCESS) {
    require(T.fully_written() && J.fully_written() && info.fully_written(), "every word of the outputs is written");
  } else {
    require(T.untouched() && J.untouched() && info.untouched(), "a refused call writes nothing");
  }
  result.T = T.values();
  result.J = J.values();
  result.info = info.values();
  return result;
}

void require_same(const Result& a, const Result& b, const char* what) {
  require(a.status == b.status && same_bits(a.info, b.info) && same_bits(a.T, b.T) && same_bits(a.J, b.J), what);
}

bool is_quiet_nan(const float* values, int count) {
  for (int i = 0; i < count; ++i) {
    std::uint32_t bits;
    std::memcpy(&bits, values + i, sizeof bits);
    if (bits != kQuietNan) return false;
  }
  return true;
}

bool is_scale(float value) { return value > 0.0f && value <= FLT_MAX; }

Problem only(const Problem& problem, std::int64_t m) {
  Problem one = problem;
  one.n = 1;
  one.A.assign(problem.A.begin() + m * kMatrix, problem.A.begin() + (m + 1) * kMatrix);
  one.B.assign(problem.B.begin() + m * kMatrix, problem.B.begin() + (m + 1) * kMatrix);
  one.alpha.assign(problem.alpha.begin() + m * kDim, problem.alpha.begin() + (m + 1) * kDim);
  return one;
}

Result only(const Result& result, std::int64_t m) {
  return {result.status,
          {result.T.begin() + m * kMatrix, result.T.begin() + (m + 1) * kMatrix},
          {result.J.begin() + m * kMatrix, result.J.begin() + (m + 1) * kMatrix},
          {result.info[static_cast<std::size_t>(m)]}};
}

// What can be said of info, T and J by looking at the diagonal and at the sums of the rows.
void check_info(const Problem& problem, std::int64_t m, const Result& one) {
  const float* const A = problem.A.data() + m * kMatrix;
  const double a = problem.a_scale;
  const std::int32_t info = one.info[0];
  require((info == 1) == !is_scale(std::fma(problem.a_scale, A[0], 1.0f)), "info is 1 where the first pivot is bad");
  bool dominant = std::fabs(problem.b_scale) < 1e3f;
  for (int i = 0; i < kDim; ++i) {
    const float diagonal = std::fma(problem.a_scale, A[i * kDim + i], 1.0f);
    // No elimination makes it larger.
    if (!is_scale(diagonal))
      require(info >= 1 && info <= i + 1, "info is at the first bad diagonal word, or before it");
    double others = 0;
    for (int j = 0; j < kDim; ++j) {
      if (j != i) others += std::fabs(a * A[i > j ? i * kDim + j : j * kDim + i]);
      dominant = dominant && std::fabs(problem.B[static_cast<std::size_t>(m * kMatrix + i * kDim + j)]) < 1e3f;
    }
    dominant = dominant && diagonal < 1e3f && diagonal > 0.5f + 2 * others &&
               std::fabs(problem.alpha[static_cast<std::size_t>(m * kDim + i)]) < 1e3f;
  }
  if (!dominant) return;
  require(info == 0, "a dominant diagonal is good");
  for (int i = 0; i < kMatrix; ++i) {
    const auto k = static_cast<std::size_t>(i);
    require(std::isfinite(one.T[k]) && std::isfinite(one.J[k]), "a good matrix has finite results");
  }
}

void check(const Problem& problem, How how, Random random) {
  const Result first = run(problem, how);
  if (how.is_public) {
    const bool good = is_scale(problem.a_scale) && is_scale(problem.b_scale);
    require(first.status == (good ? VDN_STATUS_SUCCESS : VDN_STATUS_INVALID_ARGUMENT), "bad scales are refused");
    if (!good) return;
  }
  how.threads = 2;
  require_same(run(problem, how), first, "the same bits with two threads");
  how.threads = 1;
  how.offset += 1;
  require_same(run(problem, how), first, "the same bits at another alignment");
  Problem other = problem;
  for (std::int64_t m = 0; m < problem.n; ++m) {
    for (int row = 0; row < kDim; ++row) {
      for (int column = row + 1; column < kDim; ++column)
        other.A[static_cast<std::size_t>(m * kMatrix + row * kDim + column)] = random.any_bits();
    }
  }
  require_same(run(other, how), first, "the same bits with others in the strict upper triangle");

  for (std::int64_t m = 0; m < problem.n; ++m) {
    const Result one = only(first, m);
    if (problem.n > 1) require_same(run(only(problem, m), how), one, "the same bits for a matrix alone");
    const std::int32_t info = one.info[0];
    require(info >= 0 && info <= kDim, "info is in 0 .. 128");
    if (info != 0) {
      require(is_quiet_nan(one.T.data(), kMatrix) && is_quiet_nan(one.J.data(), kMatrix), "a bad matrix is NaN");
    }
    check_info(problem, m, one);
  }
}

}  // namespace
}  // namespace vdn_delta::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace vdn_delta;
  fuzz::Bytes bytes(data, size);
  const int offset = static_cast<int>(bytes.below(16));
  const unsigned door = bytes.below(4);
  const fuzz::Problem problem = fuzz::some_problem(bytes);
  const fuzz::Random random = {0x9e3779b97f4a7c15u + size};
  // One way in, so that more inputs can be tried.
  const auto level = static_cast<cpu::Level>(door % 3);
  fuzz::check(problem, {door == 3 || level > cpu::best_level(), level, 1, offset}, random);
  return 0;
}
