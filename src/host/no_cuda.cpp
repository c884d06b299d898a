// SPDX-License-Identifier: Apache-2.0
//
// What stands behind device.h and kernels.h in a build without CUDA: no device, ever.
#include "device.h"
#include "error.h"
#include "kernels.h"

namespace vdn_delta::host {
namespace {

vdn_status_t no_device() noexcept {
  return fail(VDN_STATUS_NO_DEVICE, "this library was built without CUDA; vdn_delta_factors_host is its CPU path");
}

// Never reached, as no device is ever found; not 0, which would be cudaSuccess.
constexpr int kNoCuda = -1;

}  // namespace

vdn_status_t prepare(int, DeviceFacts*) noexcept { return no_device(); }
vdn_status_t device_facts(int, DeviceFacts*) noexcept { return no_device(); }
vdn_status_t enqueue(const Params&, vdn_variant_t, bool, void*) noexcept { return no_device(); }

int prepare_compact(VariantFacts*) { return kNoCuda; }
int launch_compact(const Params&, const LaunchShape&, void*) { return kNoCuda; }

int prepare_pair(VariantFacts*) { return kNoCuda; }
int launch_pair(const Params&, const LaunchShape&, void*) { return kNoCuda; }

int prepare_single(VariantFacts*) { return kNoCuda; }
int launch_single(const Params&, const LaunchShape&, void*) { return kNoCuda; }

}  // namespace vdn_delta::host
