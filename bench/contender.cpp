// SPDX-License-Identifier: Apache-2.0
#include "contender.h"

#include <algorithm>
#include <stdexcept>

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

void check_library(vdn_status_t status, const char* what) {
  if (status != VDN_STATUS_SUCCESS) {
    throw std::runtime_error(std::string(what) + ": " + vdn_status_string(status) + ": " + vdn_last_error_message());
  }
}

support::Batch make_timing_batch(std::int64_t n, int threads) {
  support::InputSpec spec;
  spec.n = std::min(n, kTimingMatrices);
  support::Batch batch = support::make_batch(spec, threads);
  if (n > batch.n) {
    const std::size_t count = static_cast<std::size_t>(n);
    repeat(&batch.A, count * support::kMatrix);
    repeat(&batch.B, count * support::kMatrix);
    repeat(&batch.alpha, count * support::kDim);
    batch.n = n;
  }
  return batch;
}

}  // namespace vdn_delta::bench
