/* SPDX-License-Identifier: Apache-2.0
 *
 * The public header, alone, as strict C99; each function has the type that its documentation says.
 */
#include <vdn_delta/vdn_delta.h>

int main(void) {
  const vdn_delta_options_t options = VDN_DELTA_OPTIONS_INIT;
  const vdn_delta_plan_t plan = VDN_DELTA_PLAN_INIT;
  vdn_status_t (*const factors)(int64_t, const float*, const float*, const float*, float*, float*,
                                const vdn_delta_options_t*, void*) = vdn_delta_factors;
  vdn_status_t (*const factors_host)(int64_t, const float*, const float*, const float*, float*, float*,
                                     const vdn_delta_options_t*, int) = vdn_delta_factors_host;
  vdn_status_t (*const prepare)(int) = vdn_delta_prepare;
  vdn_status_t (*const make_plan)(int64_t, const vdn_delta_options_t*, int, vdn_delta_plan_t*) = vdn_delta_plan;
  const char* (*const status_string)(vdn_status_t) = vdn_status_string;
  const char* (*const last_error_message)(void) = vdn_last_error_message;

  if (options.size != sizeof options || options.variant != VDN_VARIANT_AUTO || options.programmatic_launch != 0 ||
      options.a_scale != 1.0f || options.b_scale != 1.0f || options.info != NULL) {
    return 1;
  }
  if (plan.size != sizeof plan || plan.device != -1 || plan.ctas_per_multiprocessor != 0) return 2;
  if (!factors || !factors_host || !prepare || !make_plan || !status_string || !last_error_message) return 3;
  if (vdn_version() != VDN_VERSION_MAJOR * 10000 + VDN_VERSION_MINOR * 100 + VDN_VERSION_PATCH) return 4;
  return VDN_DELTA_DIM == 128 && VDN_DELTA_MAX_N == INT64_C(1073741824) ? 0 : 5;
}
