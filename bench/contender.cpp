// SPDX-License-Identifier: Apache-2.0
#include "contender.h"

#include <algorithm>

namespace vdn_delta::bench {
namespace {

void repeat(std::vector<float>* values, std::size_t length) {
  const std::size_t period = values->size();
  values->resize(length);
  for (std::size_t at = period; at < length; at += period) {
    std::copy_n(values->begin(), std::min(period, length - at), values->begin() + static_cast<std::ptrdiff_t>(at));
  }
}

}  // namespace

support::Batch make_timing_batch(std::int64_t n, int threads) {
  support::InputSpec spec;
  spec.n = std::min(n, kTimingMatrices);
  support::Batch batch = support::make_batch(spec, threads);
  if (n > batch.n) {
    const std::size_t count = static_cast<std::size_t>(n);
    repeat(&batch.A, count * 128 * 128);
    repeat(&batch.B, count * 128 * 128);
    repeat(&batch.alpha, count * 128);
    batch.n = n;
  }
  return batch;
}

}  // namespace vdn_delta::bench
