// SPDX-License-Identifier: Apache-2.0
//
// Constants of the single-CTA kernel: the problem's, the choices, what follows from them. Plain C++.
#pragma once

#include "shape.h"

namespace vdn_delta::single {

// Choices.
constexpr int kSweepWarps = 8;   // 256 threads (r, c) hold the symmetric matrix: tile/sweep_tile.cuh
constexpr int kInjectWarps = 8;  // one for each 16 rows of B: tile/inject_tile.cuh
constexpr int kPanels = kSteps;  // H panels in shared memory: the sweep may be a whole matrix ahead of the injection

// Derived.
constexpr int kSweepThreads = 32 * kSweepWarps;
constexpr int kInjectThreads = 32 * kInjectWarps;
constexpr int kThreads = kSweepThreads + kInjectThreads;
constexpr int kCtasPerSm = 1;  // 16 warps are four on each of the four schedulers: 16384 / (4 * 32) = 128 registers each

// Bad-pivot flags of successive matrices. The teams are less than two matrices apart, so that a flag is dead when the
// ring comes round.
constexpr int kBadRing = 4;

static_assert(kSweepThreads == kCycle * kCycle, "one thread for each (r, c)");
static_assert(kInjectWarps * 16 == kDim, "a warp owns 16 rows of B");
static_assert(kPanels == kSteps, "a panel's place is its step: phases wait by the parity of the matrix count");

}  // namespace vdn_delta::single
