// SPDX-License-Identifier: Apache-2.0
#include "stored_bits.h"

#include <cstddef>
#include <cstdio>
#include <cstring>

namespace vdn_delta::support {
namespace {

constexpr const char* kRows[] = {
#include "stored_bits.inc"
};

constexpr int kRowsPerHash = 8;

// FNV-1a, 64 bits, over the bytes of the words from the lowest on (public domain, Fowler, Noll and Vo).
std::uint64_t hash(const float* values, int count) {
  std::uint64_t h = 0xcbf29ce484222325u;
  for (int i = 0; i < count; ++i) {
    std::uint32_t word;
    std::memcpy(&word, &values[i], 4);
    for (int byte = 0; byte < 4; ++byte) {
      h ^= word >> (8 * byte) & 0xffu;
      h *= 0x100000001b3u;
    }
  }
  return h;
}

// Integers from `lowest` on, sixteen of them.
std::int64_t small(Random* random, int lowest) { return static_cast<std::int64_t>(random->bits() >> 60) + lowest; }

// A = scale K^T K and B = scale V^T K of `tokens` rows of small integers, each entry rounded once.
Batch exact_batch(std::int64_t n, int tokens, int lowest, double scale, std::uint64_t seed) {
  Batch batch = make_identity(n);
  for (std::int64_t m = 0; m < n; ++m) {
    Random random(seed, static_cast<std::uint64_t>(m));
    std::vector<std::int64_t> a(kMatrix, 0), b(kMatrix, 0);
    for (int t = 0; t < tokens; ++t) {
      std::int64_t k[kDim], v[kDim];
      for (int i = 0; i < kDim; ++i) k[i] = small(&random, lowest), v[i] = small(&random, lowest);
      for (int i = 0; i < kDim; ++i)
        for (int j = 0; j < kDim; ++j) {
          a[static_cast<std::size_t>(i * kDim + j)] += k[i] * k[j];
          b[static_cast<std::size_t>(i * kDim + j)] += v[i] * k[j];
        }
    }
    for (std::int64_t i = 0; i < kMatrix; ++i) {
      const auto at = static_cast<std::size_t>(m * kMatrix + i), from = static_cast<std::size_t>(i);
      batch.A[at] = static_cast<float>(static_cast<double>(a[from]) * scale);
      batch.B[at] = static_cast<float>(static_cast<double>(b[from]) * scale);
    }
    for (int i = 0; i < kDim; ++i)
      batch.alpha[static_cast<std::size_t>(m * kDim + i)] = static_cast<float>(small(&random, 1)) / 16.0f;
  }
  return batch;
}

}  // namespace

std::vector<StoredCase> stored_cases() {
  std::vector<StoredCase> cases;
  cases.push_back({"centred", exact_batch(3, 256, -8, 1.0 / 1024, 1), 1.0f, 1.0f});
  cases.push_back({"one large eigenvalue", exact_batch(2, 192, -4, 1.0 / 64, 2), 1.0f, 1.0f});
  cases.push_back({"fewer tokens than columns, scales", exact_batch(2, 40, -7, 1.0 / 256, 3), 0.7f, 1.3f});
  return cases;
}

std::vector<std::string> bit_rows(const StoredCase& stored, const std::vector<float>& T, const std::vector<float>& J) {
  std::vector<std::string> rows;
  for (std::int64_t m = 0; m < stored.batch.n; ++m)
    for (const char which : {'T', 'J'})
      for (int row = 0; row < kDim; row += kRowsPerHash) {
        const std::vector<float>& values = which == 'T' ? T : J;
        char text[120];
        std::snprintf(text, sizeof text, "%s, matrix %d, %c, rows %d..%d: %016llx", stored.name, static_cast<int>(m),
                      which, row, row + kRowsPerHash - 1,
                      static_cast<unsigned long long>(
                          hash(&values[static_cast<std::size_t>(m * kMatrix + row * kDim)], kRowsPerHash * kDim)));
        rows.push_back(text);
      }
  return rows;
}

std::vector<std::string> stored_rows(const StoredCase& stored) {
  std::vector<std::string> rows;
  const std::string head = std::string(stored.name) + ", matrix ";
  for (const char* row : kRows)
    if (std::strncmp(row, head.c_str(), head.size()) == 0) rows.push_back(row);
  return rows;
}

}  // namespace vdn_delta::support
