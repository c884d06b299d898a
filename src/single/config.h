// SPDX-License-Identifier: Apache-2.0
//
// Constants of the single-CTA kernel: the problem's, the choices, what follows from them. Plain C++.
#pragma once

#include "phases/panels.h"
#include "shape.h"

namespace vdn_delta::single {

// Choices; docs/decisions/0002 has the others that were tried, with their times.
constexpr int kSweepWarps = 4;   // 128 threads (r, c) hold the symmetric matrix: tile/sweep_tile.cuh
constexpr int kInjectWarps = 4;  // one for each 32 rows of B: tile/inject_tile.cuh
constexpr int kPivotWarps = 3;   // the serial chain: on schedulers 0 to 2 by turns
constexpr int kCopyWarps = 1;    // A and T row by row, since their stage's rows are padded: on scheduler 3
constexpr int kPanels = kSteps;  // H panels in shared memory: the sweep may be a whole matrix ahead of the injection

// The step at which an injection warp asks for its next rows. Before it, it waits for its last store to have been read
// out of the stage, 16 KB at tens of bytes a clock, which two steps of some 3000 clocks each leave time for; behind it,
// 13 steps are left for the load.
constexpr int kPrefetchStep = 2;

// Derived.
constexpr int kSweepThreads = 32 * kSweepWarps;
constexpr int kInjectThreads = 32 * kInjectWarps;
constexpr int kPivotThreads = 32 * kPivotWarps;
constexpr int kThreads = kSweepThreads + kInjectThreads + kPivotThreads + 32 * kCopyWarps;
// 12 warps are three on each of the four schedulers: 16384 / (3 * 32) = 168 registers each.
constexpr int kCtasPerSm = 1;

// Bad-pivot flags of successive matrices. The teams are less than two matrices apart, so that a flag is dead when the
// ring comes round.
constexpr int kBadRing = 4;

static_assert(kSweepThreads == kRowCycle * kColumnCycle, "one thread for each (r, c)");
static_assert(kSweepThreads == kDim, "one thread for each row in the solve");
static_assert(kInjectWarps * phases::kInjectWarpRows == kDim, "the injection warps share the rows of B");
static_assert(kPanels == kSteps, "a panel's place is its step: phases wait by the parity of the matrix count");

}  // namespace vdn_delta::single
