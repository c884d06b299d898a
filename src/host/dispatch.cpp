// SPDX-License-Identifier: Apache-2.0
//
// The table of GPU variants.
#include "dispatch.h"

#include "kernels.h"

namespace vdn_delta::host {

// clang-format off
const Row kDispatch[kRows] = {
    // name     variant              from  cluster  prepare          launch
    {"pair",    VDN_VARIANT_PAIR,    90,   2,       prepare_pair,    launch_pair},
    {"single",  VDN_VARIANT_SINGLE,  90,   1,       prepare_single,  launch_single},
    {"compact", VDN_VARIANT_COMPACT, 80,   1,       prepare_compact, launch_compact},
};
// clang-format on

}  // namespace vdn_delta::host
