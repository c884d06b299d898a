// SPDX-License-Identifier: Apache-2.0
//
// The message that goes with a status: one fixed buffer per thread, so that failing needs no memory.
#pragma once

#include <vdn_delta/vdn_delta.h>

namespace vdn_delta::host {

// Sets this thread's message, printf-like, and returns `status`.
__attribute__((format(printf, 2, 3))) vdn_status_t fail(vdn_status_t status, const char* format, ...) noexcept;

// Empties this thread's message and returns VDN_STATUS_SUCCESS.
vdn_status_t succeed() noexcept;

const char* last_message() noexcept;

}  // namespace vdn_delta::host
