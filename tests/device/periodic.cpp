// SPDX-License-Identifier: Apache-2.0
#include "periodic.h"

#include <algorithm>

namespace vdn_delta::test {
namespace {

constexpr std::int64_t kWordsPerMatrix = 4 * kMatrix + kDim + 1;  // A, B, T, J, alpha, info

// Fills the array with `values` again and again.
template <class T>
void fill(const DeviceWords& words, const std::vector<T>& values) {
  const std::int64_t count = words.count();
  std::int64_t done = std::min(count, static_cast<std::int64_t>(values.size()));
  auto* data = words.as<std::uint32_t>();
  VDN_CUDA(cudaMemcpy(data, values.data(), static_cast<std::size_t>(done) * 4, cudaMemcpyHostToDevice));
  while (done < count) {
    const std::int64_t more = std::min(done, count - done);
    VDN_CUDA(cudaMemcpyAsync(data + done, data, static_cast<std::size_t>(more) * 4, cudaMemcpyDeviceToDevice,
                             cudaStreamLegacy));
    done += more;
  }
  finish(cudaStreamLegacy);
}

}  // namespace

Periodic::Periodic(const Batch& period, std::int64_t capacity)
    : period_(&period),
      capacity_(std::max(capacity, period.n)),
      A_(capacity_ * kMatrix),
      B_(capacity_ * kMatrix),
      alpha_(capacity_ * kDim),
      T_(capacity_ * kMatrix),
      J_(capacity_ * kMatrix),
      info_(capacity_),
      counter_(2) {
  VDN_CUDA(load_kernels());
  fill(A_, period.A);
  fill(B_, period.B);
  fill(alpha_, period.alpha);
}

bool Periodic::fits(std::int64_t capacity) {
  std::size_t free_bytes = 0, total_bytes = 0;
  VDN_CUDA(cudaMemGetInfo(&free_bytes, &total_bytes));
  // Some memory stays free: the runtime's, and what allocations are rounded up to.
  const bool enough =
      capacity * kWordsPerMatrix * 4 + (std::int64_t{512} << 20) <= static_cast<std::int64_t>(free_bytes);
  if (!enough) MESSAGE("n = " << capacity << " is left out: only " << (free_bytes >> 20) << " MiB are free");
  return enough;
}

void Periodic::poison() {
  T_.poison();
  J_.poison();
  info_.poison();
}

vdn_status_t Periodic::try_enqueue(std::int64_t n, const Call& call, void* stream) const {
  REQUIRE(n <= capacity_);
  vdn_delta_options_t options = VDN_DELTA_OPTIONS_INIT;
  options.variant = call.variant;
  options.programmatic_launch = call.programmatic ? 1 : 0;
  options.info = call.with_info ? info_.as<std::int32_t>() : nullptr;
  return vdn_delta_factors(n, A_.as<float>(), B_.as<float>(), alpha_.as<float>(), T_.as<float>(), J_.as<float>(),
                           &options, stream);
}

void Periodic::enqueue(std::int64_t n, const Call& call, void* stream) const {
  const vdn_status_t status = try_enqueue(n, call, stream);
  const std::string message = status == VDN_STATUS_SUCCESS ? "" : vdn_last_error_message();
  REQUIRE_MESSAGE(status == VDN_STATUS_SUCCESS, std::string(vdn_status_string(status)) << ": " << message);
}

cudaError_t Periodic::launch(std::int64_t n, const host::Row& row, int units, cudaStream_t stream) const {
  const Params params{A_.as<float>(),
                      B_.as<float>(),
                      alpha_.as<float>(),
                      T_.as<float>(),
                      J_.as<float>(),
                      info_.as<std::int32_t>(),
                      n,
                      1.0f,
                      1.0f};
  const host::LaunchShape shape{units * row.cluster, false};
  return static_cast<cudaError_t>(row.launch(params, shape, stream));
}

unsigned long long Periodic::count_wrong(std::int64_t n, const Result& expected, bool with_info) const {
  finish_all();
  auto* counter = reinterpret_cast<unsigned long long*>(counter_.as<std::uint32_t>());
  VDN_CUDA(cudaMemset(counter, 0, sizeof *counter));
  unsigned long long wrong = 0;
  // The first period as the host sees it, what follows against the first period, on the device.
  const auto check = [&](const DeviceWords& words, const void* values, std::int64_t per_matrix, std::int64_t written) {
    const auto* data = words.as<std::uint32_t>();
    const std::int64_t used = written * per_matrix;
    std::vector<std::uint32_t> first(static_cast<std::size_t>(std::min(used, period_->n * per_matrix)));
    VDN_CUDA(cudaMemcpy(first.data(), data, first.size() * 4, cudaMemcpyDeviceToHost));
    const auto* wanted = static_cast<const std::uint32_t*>(values);
    for (std::size_t i = 0; i < first.size(); ++i) wrong += first[i] != wanted[i];
    if (written > period_->n) VDN_CUDA(count_aperiodic(data, used, period_->n * per_matrix, counter, nullptr));
    VDN_CUDA(count_unlike(data + used, words.count() - used, DeviceWords::kPoison, counter, nullptr));
    REQUIRE(words.bands_intact());
  };
  check(T_, expected.T.data(), kMatrix, n);
  check(J_, expected.J.data(), kMatrix, n);
  check(info_, expected.info.data(), 1, with_info ? n : 0);
  check(A_, period_->A.data(), kMatrix, capacity_);
  check(B_, period_->B.data(), kMatrix, capacity_);
  check(alpha_, period_->alpha.data(), kDim, capacity_);
  finish_all();
  unsigned long long counted = 0;
  VDN_CUDA(cudaMemcpy(&counted, counter, sizeof counted, cudaMemcpyDeviceToHost));
  return wrong + counted;
}

std::int64_t resident_units(const Variant& variant) {
  vdn_delta_options_t options = VDN_DELTA_OPTIONS_INIT;
  options.variant = variant.id;
  vdn_delta_plan_t plan = VDN_DELTA_PLAN_INIT;
  REQUIRE(vdn_delta_plan(VDN_DELTA_MAX_N, &options, -1, &plan) == VDN_STATUS_SUCCESS);
  REQUIRE(plan.grid >= plan.cluster);
  return plan.grid / plan.cluster;
}

const host::Row& row_of(const Variant& variant) {
  const host::Row* found = nullptr;
  for (const host::Row& row : host::kDispatch)
    if (row.variant == variant.id) found = &row;
  REQUIRE(found != nullptr);
  return *found;
}

Batch period_batch(std::uint64_t seed) {
  Batch batch = model_batch(8, seed);
  support::break_pivot(batch.A.data() + 5 * kMatrix, 65);
  return batch;
}

}  // namespace vdn_delta::test
