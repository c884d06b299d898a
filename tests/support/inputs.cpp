// SPDX-License-Identifier: Apache-2.0
//
// The generators. Random numbers and the rows of k, v and beta are fp32 as in the model; the products run in fp32 over
// 64 tokens and add up in fp64, so that A and B carry little more than the rounding of their last store. The chunk is
// fixed, so that Eigen's cache-dependent blocking has nothing to split and the bits do not depend on the machine's
// caches.
#include "inputs.h"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "parallel.h"

namespace vdn_delta::support {
namespace {

constexpr int kChunkTokens = 64;
using Rows = Eigen::Matrix<float, Eigen::Dynamic, kDim, Eigen::RowMajor, kChunkTokens, kDim>;
using Square = Eigen::Matrix<float, kDim, kDim, Eigen::RowMajor>;
using SquareDouble = Eigen::Matrix<double, kDim, kDim, Eigen::RowMajor>;

std::uint64_t mix(std::uint64_t x) {  // the finaliser of splitmix64
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

float sigmoid(float x) { return 1.0f / (1.0f + std::exp(-x)); }
float silu(float x) { return x * sigmoid(x); }

void make_matrix(const InputSpec& spec, std::int64_t m, float* A, float* B, float* alpha) {
  Random random(spec.seed, static_cast<std::uint64_t>(m));
  const bool with_silu = spec.family != Family::kNormal;
  const float shift = spec.family == Family::kShifted ? static_cast<float>(spec.shift) : 0.0f;

  SquareDouble a = SquareDouble::Zero(), b = SquareDouble::Zero();
  Rows k, v;
  Square product;
  for (int first = 0; first < spec.tokens; first += kChunkTokens) {
    const int tokens = std::min(kChunkTokens, spec.tokens - first);
    k.resize(tokens, kDim);
    v.resize(tokens, kDim);
    Eigen::Matrix<float, Eigen::Dynamic, 1, 0, kChunkTokens, 1> beta(tokens);
    for (int t = 0; t < tokens; ++t) {
      float square = 0.0f;
      for (int c = 0; c < kDim; ++c) {
        const float x = random.normal() + shift;
        k(t, c) = with_silu ? silu(x) : x;
        square += k(t, c) * k(t, c);
      }
      k.row(t) *= 1.0f / std::sqrt(square);
      for (int c = 0; c < kDim; ++c) {
        const float x = random.normal();
        v(t, c) = with_silu ? silu(x) : x;
      }
      beta(t) = sigmoid(random.normal()) * static_cast<float>(spec.beta_scale);
    }
    v = beta.asDiagonal() * v;
    product.noalias() = v.transpose() * k;
    b += product.cast<double>();
    v = beta.asDiagonal() * k;
    product.noalias() = v.transpose() * k;
    a += product.cast<double>();
  }
  for (int i = 0; i < kDim; ++i) {
    for (int j = 0; j < kDim; ++j) {
      A[i * kDim + j] = static_cast<float>(0.5 * (a(i, j) + a(j, i)));
      B[i * kDim + j] = static_cast<float>(b(i, j));
    }
    const float draw = static_cast<float>(0.1 + 0.9 * random.uniform());
    alpha[i] = m == 0 ? 1.0f : draw;
  }
}

}  // namespace

Random::Random(std::uint64_t seed, std::uint64_t stream) : key_(mix(mix(seed + 0x9e3779b97f4a7c15u) + stream)) {}

std::uint64_t Random::bits() { return mix(key_ + 0x9e3779b97f4a7c15u * ++counter_); }

double Random::uniform() { return (static_cast<double>(bits() >> 11) + 0.5) * 0x1p-53; }

float Random::normal() {
  if (has_spare_) {
    has_spare_ = false;
    return spare_;
  }
  const std::uint64_t draw = bits();
  const float u = (static_cast<float>(draw >> 40) + 0.5f) * 0x1p-24f;
  const float angle = static_cast<float>(draw & 0xffffff) * (0x1p-24f * 6.28318531f);
  const float radius = std::sqrt(-2.0f * std::log(u));
  spare_ = radius * std::sin(angle);
  has_spare_ = true;
  return radius * std::cos(angle);
}

const char* family_name(Family family) {
  switch (family) {
    case Family::kNormal: return "normal";
    case Family::kShifted: return "shifted";
    case Family::kSilu: break;
  }
  return "silu";
}

bool family_from_name(const std::string& name, Family* family) {
  for (const Family f : {Family::kSilu, Family::kNormal, Family::kShifted}) {
    if (name == family_name(f)) {
      *family = f;
      return true;
    }
  }
  return false;
}

std::string describe(const InputSpec& spec) {
  char text[160];
  std::snprintf(text, sizeof text, "%s tokens=%d beta_scale=%g shift=%g n=%lld seed=%llu", family_name(spec.family),
                spec.tokens, spec.beta_scale, spec.shift, static_cast<long long>(spec.n),
                static_cast<unsigned long long>(spec.seed));
  return text;
}

Batch make_batch(const InputSpec& spec, int threads) {
  Batch batch;
  batch.n = spec.n;
  batch.A.resize(static_cast<std::size_t>(spec.n * kMatrix));
  batch.B.resize(static_cast<std::size_t>(spec.n * kMatrix));
  batch.alpha.resize(static_cast<std::size_t>(spec.n * kDim));
  parallel_for(spec.n, threads, [&](std::int64_t m) {
    make_matrix(spec, m, batch.A.data() + m * kMatrix, batch.B.data() + m * kMatrix, batch.alpha.data() + m * kDim);
  });
  return batch;
}

Batch pick(const Batch& batch, const std::vector<std::int64_t>& order) {
  Batch picked;
  picked.n = static_cast<std::int64_t>(order.size());
  for (const std::int64_t m : order) {
    picked.A.insert(picked.A.end(), batch.A.begin() + m * kMatrix, batch.A.begin() + (m + 1) * kMatrix);
    picked.B.insert(picked.B.end(), batch.B.begin() + m * kMatrix, batch.B.begin() + (m + 1) * kMatrix);
    picked.alpha.insert(picked.alpha.end(), batch.alpha.begin() + m * kDim, batch.alpha.begin() + (m + 1) * kDim);
  }
  return picked;
}

Batch slice(const Batch& batch, std::int64_t first, std::int64_t count) {
  std::vector<std::int64_t> order;
  for (std::int64_t m = first; m < first + count; ++m) order.push_back(m);
  return pick(batch, order);
}

Batch make_identity(std::int64_t n) {
  Batch batch;
  batch.n = n;
  batch.A.assign(static_cast<std::size_t>(n * kMatrix), 0.0f);
  batch.B.assign(static_cast<std::size_t>(n * kMatrix), 0.0f);
  batch.alpha.assign(static_cast<std::size_t>(n * kDim), 1.0f);
  for (std::int64_t m = 0; m < n; ++m) set_diagonal(batch.B.data() + m * kMatrix, 1.0f);
  return batch;
}

void set_diagonal(float* matrix, float value) {
  std::fill_n(matrix, kMatrix, 0.0f);
  for (int i = 0; i < kDim; ++i) matrix[i * kDim + i] = value;
}

void set_graded(float* A, double first, double last) {
  std::fill_n(A, kMatrix, 0.0f);
  for (int i = 0; i < kDim; ++i)
    A[i * kDim + i] = static_cast<float>(first * std::pow(last / first, i / static_cast<double>(kDim - 1)));
}

void set_rank_one(float* A, double scale) { std::fill_n(A, kMatrix, static_cast<float>(scale / kDim)); }

void set_psd(float* A, double norm, Random* random) {
  SquareDouble x;
  for (int i = 0; i < kDim; ++i) {
    for (int j = 0; j < kDim; ++j) x(i, j) = random->normal();
  }
  SquareDouble product;
  product.noalias() = x.transpose() * x;
  // The largest eigenvalue of a square Wishart matrix is close to 4 d.
  const double factor = norm / (4.0 * kDim);
  for (int i = 0; i < kDim; ++i) {
    for (int j = 0; j < kDim; ++j) A[i * kDim + j] = static_cast<float>(factor * 0.5 * (product(i, j) + product(j, i)));
  }
}

void set_random(float* matrix, double size, std::int64_t count, Random* random) {
  for (std::int64_t i = 0; i < count; ++i) matrix[i] = static_cast<float>(size * random->normal());
}

void break_pivot(float* A, int order) {
  const int i = order - 1;
  A[i * kDim + i] = -2.0f - std::fabs(A[i * kDim + i]);
}

}  // namespace vdn_delta::support
