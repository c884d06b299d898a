// SPDX-License-Identifier: Apache-2.0
//
// The one room that talks to the CUDA runtime, apart from the kernel rooms: device facts, preparation, the launch. In a
// build without CUDA no_cuda.cpp stands behind this door and answers VDN_STATUS_NO_DEVICE.
//
// Every function sets this thread's message (error.h) when it fails, and leaves the runtime's last error clean.
#pragma once

#include "plan.h"

namespace vdn_delta::host {

// Prepares `device` (-1: the current one) for all variants, again if it has been prepared. `facts` may be null.
vdn_status_t prepare(int device, DeviceFacts* facts) noexcept;

// The facts of `device` (-1: the current one), preparing it if it has not been.
vdn_status_t device_facts(int device, DeviceFacts* facts) noexcept;

// Plans and enqueues one call on the current device. `params.n` >= 1.
vdn_status_t enqueue(const Params& params, vdn_variant_t variant, bool programmatic_launch, void* stream) noexcept;

}  // namespace vdn_delta::host
