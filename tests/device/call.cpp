// SPDX-License-Identifier: Apache-2.0
#include "call.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "host/dispatch.h"

namespace vdn_delta::test {
namespace {

std::size_t size_of(std::int64_t count) { return static_cast<std::size_t>(count); }

vdn_delta_options_t options_of(const Call& call, std::int32_t* info) {
  vdn_delta_options_t options = VDN_DELTA_OPTIONS_INIT;
  options.variant = call.variant;
  options.programmatic_launch = call.programmatic ? 1 : 0;
  options.a_scale = call.a_scale;
  options.b_scale = call.b_scale;
  options.info = call.with_info ? info : nullptr;
  return options;
}

void check_bands(const DeviceWords& words, const std::string& name) {
  const bool bands_intact = words.bands_intact();
  REQUIRE_MESSAGE(bands_intact, "something was written beside " << name);
}

void check_input(const DeviceWords& words, const std::vector<float>& expected, const std::string& name) {
  check_bands(words, name);
  std::vector<float> values(expected.size());
  words.download(values.data());
  const bool untouched = same_bits(values, expected);
  REQUIRE_MESSAGE(untouched, "the call wrote into " << name);
}

bool is_poison(const DeviceWords& words) {
  std::vector<std::uint32_t> values(size_of(words.count()));
  words.download(values.data());
  return words.bands_intact() &&
         std::all_of(values.begin(), values.end(), [](std::uint32_t word) { return word == DeviceWords::kPoison; });
}

template <class T>
std::vector<T> take_output(const DeviceWords& words, const std::string& name) {
  check_bands(words, name);
  std::vector<T> values(size_of(words.count()));
  words.download(values.data());
  std::int64_t not_written = 0, first = -1;
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::uint32_t word;
    std::memcpy(&word, &values[i], 4);
    if (word != DeviceWords::kPoison) continue;
    if (not_written++ == 0) first = static_cast<std::int64_t>(i);
  }
  REQUIRE_MESSAGE(not_written == 0, not_written << " words of " << name << " were not written, the first is " << first);
  return values;
}

}  // namespace

std::vector<Variant> variants() {
  std::vector<Variant> found;
  for (const host::Row& row : host::kDispatch) {
    vdn_delta_options_t options = VDN_DELTA_OPTIONS_INIT;
    options.variant = row.variant;
    vdn_delta_plan_t plan = VDN_DELTA_PLAN_INIT;
    const vdn_status_t status = vdn_delta_plan(1, &options, -1, &plan);
    const std::string message = vdn_last_error_message();
    CAPTURE(row.name);
    CAPTURE(message);
    if (status == VDN_STATUS_SUCCESS) {
      found.push_back({row.name, row.variant});
    } else {
      REQUIRE(status == VDN_STATUS_UNSUPPORTED);
    }
  }
  REQUIRE_FALSE(found.empty());
  return found;
}

Call call_of(const Variant& variant) {
  Call call;
  call.variant = variant.id;
  return call;
}

Buffers::Buffers(const Batch& batch, const Call& call)
    : batch_(&batch),
      call_(call),
      A_(batch.n * kMatrix, call.offsets.A, call.tight),
      B_(batch.n * kMatrix, call.offsets.B, call.tight),
      alpha_(batch.n * kDim, call.offsets.alpha, call.tight),
      T_(batch.n * kMatrix, call.offsets.T, call.tight),
      J_(batch.n * kMatrix, call.offsets.J, call.tight),
      info_(batch.n, call.offsets.info, call.tight) {
  write(batch);
}

void Buffers::expect(const Batch& batch) {
  REQUIRE(batch.n == batch_->n);
  batch_ = &batch;
}

void Buffers::write(const Batch& batch) {
  expect(batch);
  A_.upload(batch.A.data());
  B_.upload(batch.B.data());
  alpha_.upload(batch.alpha.data());
}

void Buffers::poison() {
  T_.poison();
  J_.poison();
  info_.poison();
}

vdn_status_t Buffers::try_enqueue(void* stream) const {
  const vdn_delta_options_t options = options_of(call_, info_.as<std::int32_t>());
  return vdn_delta_factors(batch_->n, A_.as<float>(), B_.as<float>(), alpha_.as<float>(), T_.as<float>(),
                           J_.as<float>(), &options, stream);
}

void Buffers::enqueue(void* stream) const {
  const vdn_status_t status = try_enqueue(stream);
  const std::string message = status == VDN_STATUS_SUCCESS ? "" : vdn_last_error_message();
  REQUIRE_MESSAGE(status == VDN_STATUS_SUCCESS, std::string(vdn_status_string(status)) << ": " << message);
}

Result Buffers::collect() const {
  finish_all();
  check_input(A_, batch_->A, "A");
  check_input(B_, batch_->B, "B");
  check_input(alpha_, batch_->alpha, "alpha");
  Result result;
  result.T = take_output<float>(T_, "T");
  result.J = take_output<float>(J_, "J");
  if (call_.with_info) {
    result.info = take_output<std::int32_t>(info_, "info");
    const bool in_range =
        std::all_of(result.info.begin(), result.info.end(), [](std::int32_t i) { return i >= 0 && i <= kDim; });
    REQUIRE(in_range);
  } else {
    const bool untouched = is_poison(info_);
    REQUIRE_MESSAGE(untouched, "info was written without being asked for");
  }
  return result;
}

bool Buffers::is_untouched() const {
  finish_all();
  check_input(A_, batch_->A, "A");
  check_input(B_, batch_->B, "B");
  check_input(alpha_, batch_->alpha, "alpha");
  return is_poison(T_) && is_poison(J_) && is_poison(info_);
}

Result run(const Batch& batch, const Call& call, void* stream) {
  CAPTURE(batch.n);
  const Buffers buffers(batch, call);
  buffers.enqueue(stream);
  return buffers.collect();
}

Source::Source(const Batch& batch) : A_(batch.n * kMatrix), B_(batch.n * kMatrix), alpha_(batch.n * kDim) {
  write(batch);
}

void Source::write(const Batch& batch) {
  A_.upload(batch.A.data());
  B_.upload(batch.B.data());
  alpha_.upload(batch.alpha.data());
}

LateWrite Source::to(const Buffers& buffers, int microseconds, bool trigger) const {
  LateWrite write{};
  const DeviceWords* from[] = {&A_, &B_, &alpha_};
  const DeviceWords* into[] = {&buffers.A(), &buffers.B(), &buffers.alpha()};
  for (write.count = 0; write.count < 3; ++write.count) {
    write.source[write.count] = from[write.count]->as<std::uint32_t>();
    write.target[write.count] = into[write.count]->as<std::uint32_t>();
    write.words[write.count] = from[write.count]->count();
  }
  write.microseconds = microseconds;
  write.trigger = trigger;
  return write;
}

Batch made_batch(const support::InputSpec& spec) {
  note_input(support::describe(spec));
  return make_batch(spec);
}

Batch model_batch(std::int64_t n, std::uint64_t seed) {
  support::InputSpec spec;
  spec.n = n;
  spec.tokens = 64;
  spec.beta_scale = 50;
  spec.seed = seed;
  return made_batch(spec);
}

bool same_matrix(const std::vector<float>& a, std::int64_t i, const std::vector<float>& b, std::int64_t j) {
  return std::memcmp(a.data() + i * kMatrix, b.data() + j * kMatrix, size_of(kMatrix) * 4) == 0;
}

bool same_result(const Result& a, std::int64_t i, const Result& b, std::int64_t j) {
  if (!a.info.empty() && !b.info.empty() && a.info[size_of(i)] != b.info[size_of(j)]) return false;
  return same_matrix(a.T, i, b.T, j) && same_matrix(a.J, i, b.J, j);
}

std::int64_t count_different(const Result& few, const Result& many) {
  REQUIRE(few.T.size() <= many.T.size());
  std::int64_t different = 0;
  for (std::int64_t m = 0; m < static_cast<std::int64_t>(few.T.size()) / kMatrix; ++m)
    different += !same_result(few, m, many, m);
  return different;
}

bool all_quiet_nan(const std::vector<float>& values, std::int64_t m) {
  for (std::int64_t i = m * kMatrix; i < (m + 1) * kMatrix; ++i) {
    std::uint32_t word;
    std::memcpy(&word, &values[size_of(i)], 4);
    if ((word & 0x7fc00000u) != 0x7fc00000u) return false;
  }
  return true;
}

std::int64_t count_not_finite(const std::vector<float>& values) {
  return std::count_if(values.begin(), values.end(), [](float x) { return !std::isfinite(x); });
}

std::int64_t count_nonzero(const std::vector<std::int32_t>& info) {
  return std::count_if(info.begin(), info.end(), [](std::int32_t i) { return i != 0; });
}

Result run_host(const Batch& batch, const Call& call) {
  Result result;
  result.T.resize(batch.A.size());
  result.J.resize(batch.A.size());
  if (call.with_info) result.info.resize(size_of(batch.n));
  const vdn_delta_options_t options = options_of(call, result.info.data());
  REQUIRE(vdn_delta_factors_host(batch.n, batch.A.data(), batch.B.data(), batch.alpha.data(), result.T.data(),
                                 result.J.data(), &options, 0) == VDN_STATUS_SUCCESS);
  return result;
}

support::Errors errors_of(const Result& result, const support::Reference& reference) {
  return support::compare(static_cast<std::int64_t>(result.T.size()) / kMatrix, result.T.data(), result.J.data(),
                          reference);
}

}  // namespace vdn_delta::test
