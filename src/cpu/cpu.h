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

// Computes all matrices of `params` (host pointers) with `threads` threads (0: one per hardware thread, never more
// than n). Results do not depend on `threads`. Returns false if no memory or thread could be had; T, J and info are
// then unspecified.
bool factors(const Params& params, int threads, Level level) noexcept;

}  // namespace vdn_delta::cpu
