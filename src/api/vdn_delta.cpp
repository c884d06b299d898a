// SPDX-License-Identifier: Apache-2.0
//
// The exported functions: check, call, translate. What they promise is said in the public header alone.
#include <vdn_delta/vdn_delta.h>

#include <cstring>

#include "../cpu/cpu.h"
#include "../host/device.h"
#include "../host/error.h"
#include "check.h"

namespace {

using namespace vdn_delta;  // this file is all of the C ABI; nothing includes it

// Everything that both calls check alike. With n = 0 the arrays are not looked at.
vdn_status_t check_call(const Params& arrays, const vdn_delta_options_t* from, api::Options* options,
                        Params* params) noexcept {
  vdn_status_t status = api::read_options(from, options);
  if (status == VDN_STATUS_SUCCESS) status = api::check_n(arrays.n);
  if (status != VDN_STATUS_SUCCESS) return status;
  *params = arrays;
  params->info = options->info;
  params->a_scale = options->a_scale;
  params->b_scale = options->b_scale;
  return arrays.n == 0 ? VDN_STATUS_SUCCESS : api::check_arrays(*params);
}

vdn_status_t check_device(int device) noexcept {
  if (device >= -1) return VDN_STATUS_SUCCESS;
  return host::fail(VDN_STATUS_INVALID_ARGUMENT, "device is %d; it is an ordinal, or -1 for the current device",
                    device);
}

// A failure has set its message; a success empties it.
vdn_status_t finish(vdn_status_t status) noexcept { return status == VDN_STATUS_SUCCESS ? host::succeed() : status; }

}  // namespace

extern "C" {

vdn_status_t vdn_delta_factors(int64_t n, const float* A, const float* B, const float* alpha, float* T, float* J,
                               const vdn_delta_options_t* options, void* stream) {
  api::Options read;
  Params params{};
  vdn_status_t status = check_call({A, B, alpha, T, J, nullptr, n, 1.0f, 1.0f}, options, &read, &params);
  if (status == VDN_STATUS_SUCCESS && n > 0) {
    status = host::enqueue(params, read.variant, read.programmatic_launch, stream);
  }
  return finish(status);
}

vdn_status_t vdn_delta_factors_host(int64_t n, const float* A, const float* B, const float* alpha, float* T, float* J,
                                    const vdn_delta_options_t* options, int threads) {
  api::Options read;
  Params params{};
  vdn_status_t status = check_call({A, B, alpha, T, J, nullptr, n, 1.0f, 1.0f}, options, &read, &params);
  if (status == VDN_STATUS_SUCCESS && threads < 0) {
    status = host::fail(VDN_STATUS_INVALID_ARGUMENT, "threads is %d; it must be >= 0", threads);
  }
  if (status == VDN_STATUS_SUCCESS && n > 0 && !cpu::factors(params, threads, cpu::best_level())) {
    status = host::fail(VDN_STATUS_OUT_OF_MEMORY, "the CPU path could not get memory");
  }
  return finish(status);
}

vdn_status_t vdn_delta_prepare(int device) {
  vdn_status_t status = check_device(device);
  if (status == VDN_STATUS_SUCCESS) status = host::prepare(device, nullptr);
  return finish(status);
}

vdn_status_t vdn_delta_plan(int64_t n, const vdn_delta_options_t* options, int device, vdn_delta_plan_t* plan) {
  if (plan == nullptr) return host::fail(VDN_STATUS_NULL_POINTER, "plan is NULL");
  api::Options read;
  host::DeviceFacts facts;
  vdn_status_t status = api::check_plan_size(*plan);
  if (status == VDN_STATUS_SUCCESS) status = api::read_options(options, &read);
  if (status == VDN_STATUS_SUCCESS) status = api::check_n(n);
  if (status == VDN_STATUS_SUCCESS) status = check_device(device);
  if (status == VDN_STATUS_SUCCESS) status = host::device_facts(device, &facts);
  if (status != VDN_STATUS_SUCCESS) return status;

  const host::Plan made = host::make_plan(facts, n, read.variant);
  if (made.status != VDN_STATUS_SUCCESS) return host::fail(made.status, "%s", made.why);
  const vdn_delta_plan_t full = {
      plan->size,
      made.row->variant,
      facts.device,
      facts.capability_major,
      facts.capability_minor,
      facts.multiprocessors,
      made.grid,
      made.kernel.threads,
      made.row->cluster,
      made.kernel.shared_bytes,
      made.kernel.ctas_per_sm,
  };
  std::memcpy(plan, &full, full.size);
  return finish(VDN_STATUS_SUCCESS);
}

const char* vdn_status_string(vdn_status_t status) {
  switch (status) {
    case VDN_STATUS_SUCCESS: return "VDN_STATUS_SUCCESS";
    case VDN_STATUS_INVALID_ARGUMENT: return "VDN_STATUS_INVALID_ARGUMENT";
    case VDN_STATUS_NULL_POINTER: return "VDN_STATUS_NULL_POINTER";
    case VDN_STATUS_OVERLAP: return "VDN_STATUS_OVERLAP";
    case VDN_STATUS_UNSUPPORTED: return "VDN_STATUS_UNSUPPORTED";
    case VDN_STATUS_NO_DEVICE: return "VDN_STATUS_NO_DEVICE";
    case VDN_STATUS_NOT_PREPARED: return "VDN_STATUS_NOT_PREPARED";
    case VDN_STATUS_CUDA_ERROR: return "VDN_STATUS_CUDA_ERROR";
    case VDN_STATUS_OUT_OF_MEMORY: return "VDN_STATUS_OUT_OF_MEMORY";
    case VDN_STATUS_MAX_ENUM: break;
  }
  return "unknown vdn_status_t";
}

const char* vdn_last_error_message(void) { return host::last_message(); }

int vdn_version(void) { return VDN_VERSION_MAJOR * 10000 + VDN_VERSION_MINOR * 100 + VDN_VERSION_PATCH; }

}  // extern "C"
