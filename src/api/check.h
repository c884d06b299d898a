// SPDX-License-Identifier: Apache-2.0
//
// Checks of arguments, common to the GPU call and the host call. They set the thread's message and touch nothing else.
#pragma once

#include <vdn_delta/vdn_delta.h>

#include "../params.h"

namespace vdn_delta::api {

// The caller's options after the size rule: a complete set.
struct Options {
  vdn_variant_t variant = VDN_VARIANT_AUTO;
  bool programmatic_launch = false;
  float a_scale = 1.0f;
  float b_scale = 1.0f;
  std::int32_t* info = nullptr;
};

// Reads `from` (may be null) by the size rule of the header and checks each field's range.
vdn_status_t read_options(const vdn_delta_options_t* from, Options* options) noexcept;

// 0 <= n <= VDN_DELTA_MAX_N.
vdn_status_t check_n(std::int64_t n) noexcept;

// NULL, alignment and overlap, in this order. n >= 1.
vdn_status_t check_arrays(const Params& params) noexcept;

// Whether `size` is sizeof(vdn_delta_plan_t) or the offset of one of its fields.
vdn_status_t check_plan_size(const vdn_delta_plan_t& plan) noexcept;

}  // namespace vdn_delta::api
