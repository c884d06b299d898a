// SPDX-License-Identifier: Apache-2.0
//
// Constants of the single-CTA kernel: the problem's, the choices, what follows from them. Plain C++.
#pragma once

#include "shape.h"

namespace vdn_delta::single {

// Choices.
constexpr int kSweepWarps = 8;   // 256 threads (r, c) hold the symmetric matrix: tile/sweep_tile.cuh
constexpr int kInjectWarps = 8;  // one for each 16 rows of B: tile/inject_tile.cuh
constexpr int kPivotWarps = 1;   // the serial chain has a warp of its own
constexpr int kPanels = kSteps;  // H panels in shared memory: the sweep may be a whole matrix ahead of the injection

// Derived.
constexpr int kSweepThreads = 32 * kSweepWarps;
constexpr int kInjectThreads = 32 * kInjectWarps;
constexpr int kPivotThreads = 32 * kPivotWarps;
constexpr int kThreads = kSweepThreads + kInjectThreads + kPivotThreads;
constexpr int kCtasPerSm = 1;  // 17 warps are five on one of the four schedulers: 16384 / (5 * 32) = 96 registers each

static_assert(kSweepThreads == kCycle * kCycle, "one thread for each (r, c)");
static_assert(kInjectWarps * 16 == kDim, "a warp owns 16 rows of B");
static_assert(kPanels == kSteps, "a panel's place is its step: phases wait by the parity of the matrix count");

}  // namespace vdn_delta::single
