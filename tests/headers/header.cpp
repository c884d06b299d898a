// SPDX-License-Identifier: Apache-2.0
//
// The public header, alone, as strict C++17.
#include <vdn_delta/vdn_delta.h>

static_assert(sizeof(vdn_variant_t) == 4 && sizeof(vdn_status_t) == 4, "the enums are as wide as int32_t");
static_assert(sizeof(vdn_delta_options_t) == 32, "fields are appended, padding is not used");
static_assert(sizeof(vdn_delta_plan_t) == 48, "fields are appended, padding is not used");

int main() {
  vdn_delta_options_t options = VDN_DELTA_OPTIONS_INIT;
  vdn_delta_plan_t plan = VDN_DELTA_PLAN_INIT;
  if (options.size != sizeof options || plan.size != sizeof plan) return 1;
  return vdn_delta_factors(0, nullptr, nullptr, nullptr, nullptr, nullptr, &options, nullptr) == VDN_STATUS_SUCCESS ? 0
                                                                                                                    : 2;
}
