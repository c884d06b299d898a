// SPDX-License-Identifier: Apache-2.0
//
// The host's door to the CPU path.
#pragma once

#include "../params.h"

namespace vdn_delta::cpu {

// Instruction-set levels that this build holds and this processor can run, best last.
enum class Level { kBaseline, kAvx2, kAvx512 };
Level best_level() noexcept;
const char* level_name(Level level) noexcept;

// Computes all matrices of `params` (host pointers) on the calling thread and up to `threads` - 1 helpers, which end
// with the call (0: one thread per processor that this thread may run on; never more than n or 1024). Results do not
// depend on `threads`, nor on how many helpers could be had. Returns false if the caller had no memory for its 221 KB
// of scratch; T, J and info are then untouched.
bool factors(const Params& params, int threads, Level level) noexcept;

}  // namespace vdn_delta::cpu
