// SPDX-License-Identifier: Apache-2.0
//
// The message that goes with a status.
#include "error.h"

#include <cstdarg>
#include <cstdio>

namespace vdn_delta::host {
namespace {

// A plain array: no constructor, no destructor, so it outlives everything that may still fail in an ending thread.
thread_local char message[512];

}  // namespace

vdn_status_t fail(vdn_status_t status, const char* format, ...) noexcept {
  std::va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  return status;
}

vdn_status_t succeed() noexcept {
  message[0] = '\0';
  return VDN_STATUS_SUCCESS;
}

const char* last_message() noexcept { return message; }

}  // namespace vdn_delta::host
