// SPDX-License-Identifier: Apache-2.0
//
// The kernel rooms' doors as plain functions, for the dispatch table. See dispatch.h for what they take and return.
#pragma once

#include "dispatch.h"

namespace vdn_delta::host {

int prepare_compact(VariantFacts* facts);
int launch_compact(const Params& params, const LaunchShape& shape, void* stream);

int prepare_pair(VariantFacts* facts);
int launch_pair(const Params& params, const LaunchShape& shape, void* stream);

int prepare_single(VariantFacts* facts);
int launch_single(const Params& params, const LaunchShape& shape, void* stream);

}  // namespace vdn_delta::host
