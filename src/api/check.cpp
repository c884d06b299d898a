// SPDX-License-Identifier: Apache-2.0
//
// Checks of arguments.
#include "check.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>

#include "../host/error.h"
#include "../shape.h"

#ifdef __FAST_MATH__
#error "built with -ffast-math: not-a-number would pass the checks, and results would differ"
#endif

namespace vdn_delta::api {
namespace {

using host::fail;

static_assert(kDim == VDN_DELTA_DIM, "the kernels' size is the contract's");

// Appending a field must not let it land in the tail padding of the struct before, where an older caller has garbage.
static_assert(sizeof(void*) == 8 && sizeof(vdn_delta_options_t) == 32 && sizeof(vdn_delta_plan_t) == 48,
              "the public structs have no padding");

constexpr std::size_t kOptionsSizes[] = {
    offsetof(vdn_delta_options_t, variant), offsetof(vdn_delta_options_t, programmatic_launch),
    offsetof(vdn_delta_options_t, a_scale), offsetof(vdn_delta_options_t, b_scale),
    offsetof(vdn_delta_options_t, info),    sizeof(vdn_delta_options_t),
};

constexpr std::size_t kPlanSizes[] = {
    offsetof(vdn_delta_plan_t, variant),
    offsetof(vdn_delta_plan_t, device),
    offsetof(vdn_delta_plan_t, capability_major),
    offsetof(vdn_delta_plan_t, capability_minor),
    offsetof(vdn_delta_plan_t, multiprocessors),
    offsetof(vdn_delta_plan_t, grid),
    offsetof(vdn_delta_plan_t, block),
    offsetof(vdn_delta_plan_t, cluster),
    offsetof(vdn_delta_plan_t, shared_bytes),
    offsetof(vdn_delta_plan_t, ctas_per_multiprocessor),
    sizeof(vdn_delta_plan_t),
};

template <std::size_t kCount>
bool is_known(const std::size_t (&sizes)[kCount], std::size_t size) noexcept {
  return std::find(std::begin(sizes), std::end(sizes), size) != std::end(sizes);
}

bool is_scale(float value) noexcept { return std::isfinite(value) && value > 0.0f; }

struct Array {
  const char* name;
  const void* data;
  std::uint64_t bytes;
  bool required;
};

// By distances, which cannot overflow: an end address could.
bool overlap(const Array& a, const Array& b) noexcept {
  const auto begin_a = reinterpret_cast<std::uintptr_t>(a.data);
  const auto begin_b = reinterpret_cast<std::uintptr_t>(b.data);
  return begin_a <= begin_b ? begin_b - begin_a < a.bytes : begin_a - begin_b < b.bytes;
}

}  // namespace

vdn_status_t read_options(const vdn_delta_options_t* from, Options* options) noexcept {
  vdn_delta_options_t known = VDN_DELTA_OPTIONS_INIT;
  if (from != nullptr) {
    if (!is_known(kOptionsSizes, from->size)) {
      return fail(VDN_STATUS_INVALID_ARGUMENT,
                  "options->size is %zu; this library knows %zu (start from VDN_DELTA_OPTIONS_INIT)", from->size,
                  sizeof known);
    }
    std::memcpy(&known, from, from->size);
  }
  // As an integer: what a caller wrote need not be a value that the enum can hold.
  std::int32_t variant = 0;
  static_assert(sizeof variant == sizeof known.variant, "the enum is as wide as int32_t");
  std::memcpy(&variant, &known.variant, sizeof variant);
  switch (variant) {
    case VDN_VARIANT_AUTO:
    case VDN_VARIANT_PAIR:
    case VDN_VARIANT_SINGLE:
    case VDN_VARIANT_COMPACT: break;
    default:
      return fail(VDN_STATUS_INVALID_ARGUMENT,
                  "options->variant is %d; it is VDN_VARIANT_AUTO (%d), _PAIR (%d), _SINGLE (%d) or _COMPACT (%d)",
                  static_cast<int>(variant), VDN_VARIANT_AUTO, VDN_VARIANT_PAIR, VDN_VARIANT_SINGLE,
                  VDN_VARIANT_COMPACT);
  }
  if (known.programmatic_launch != 0 && known.programmatic_launch != 1) {
    return fail(VDN_STATUS_INVALID_ARGUMENT, "options->programmatic_launch is %d; it is 0 or 1",
                static_cast<int>(known.programmatic_launch));
  }
  if (!is_scale(known.a_scale)) {
    return fail(VDN_STATUS_INVALID_ARGUMENT, "options->a_scale is %g; it must be finite and > 0",
                static_cast<double>(known.a_scale));
  }
  if (!is_scale(known.b_scale)) {
    return fail(VDN_STATUS_INVALID_ARGUMENT, "options->b_scale is %g; it must be finite and > 0",
                static_cast<double>(known.b_scale));
  }
  *options = {known.variant, known.programmatic_launch == 1, known.a_scale, known.b_scale, known.info};
  return VDN_STATUS_SUCCESS;
}

vdn_status_t check_n(std::int64_t n) noexcept {
  if (n >= 0 && n <= VDN_DELTA_MAX_N) return VDN_STATUS_SUCCESS;
  return fail(VDN_STATUS_INVALID_ARGUMENT, "n is %lld; it must be 0 .. %lld", static_cast<long long>(n),
              static_cast<long long>(VDN_DELTA_MAX_N));
}

vdn_status_t check_arrays(const Params& params) noexcept {
  const std::uint64_t words = static_cast<std::uint64_t>(params.n) * sizeof(float);
  const std::uint64_t vectors = words * VDN_DELTA_DIM;
  const std::uint64_t matrices = vectors * VDN_DELTA_DIM;
  const Array inputs[] = {
      {"A", params.A, matrices, true},
      {"B", params.B, matrices, true},
      {"alpha", params.alpha, vectors, true},
  };
  const Array outputs[] = {
      {"T", params.T, matrices, true},
      {"J", params.J, matrices, true},
      {"options->info", params.info, words, false},
  };
  for (const auto* arrays : {inputs, outputs}) {
    for (int i = 0; i < 3; ++i) {
      if (arrays[i].required && arrays[i].data == nullptr) {
        return fail(VDN_STATUS_NULL_POINTER, "%s is NULL", arrays[i].name);
      }
    }
  }
  for (const auto* arrays : {inputs, outputs}) {
    for (int i = 0; i < 3; ++i) {
      if (reinterpret_cast<std::uintptr_t>(arrays[i].data) % alignof(float) != 0) {
        return fail(VDN_STATUS_INVALID_ARGUMENT, "%s is not 4-byte aligned", arrays[i].name);
      }
    }
  }
  for (int o = 0; o < 3; ++o) {
    if (outputs[o].data == nullptr) continue;
    for (const Array& input : inputs) {
      if (overlap(outputs[o], input)) {
        return fail(VDN_STATUS_OVERLAP, "%s overlaps %s", outputs[o].name, input.name);
      }
    }
    for (int other = 0; other < o; ++other) {
      if (overlap(outputs[o], outputs[other])) {
        return fail(VDN_STATUS_OVERLAP, "%s overlaps %s", outputs[o].name, outputs[other].name);
      }
    }
  }
  return VDN_STATUS_SUCCESS;
}

vdn_status_t check_plan_size(const vdn_delta_plan_t& plan) noexcept {
  if (is_known(kPlanSizes, plan.size)) return VDN_STATUS_SUCCESS;
  return fail(VDN_STATUS_INVALID_ARGUMENT, "plan->size is %zu; this library knows %zu (start from VDN_DELTA_PLAN_INIT)",
              plan.size, sizeof plan);
}

}  // namespace vdn_delta::api
