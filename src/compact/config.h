// SPDX-License-Identifier: Apache-2.0
//
// Constants of the compact kernel: the choices, and what follows from them. Plain C++.
#pragma once

#include "phases/square_panels.h"
#include "shape.h"

namespace vdn_delta::compact {

// Choices; docs/decisions/0009 has their reasons.
constexpr int kSweepWarps = 8;   // 256 threads (r, c) hold the symmetric matrix: tile/square_tile.cuh
constexpr int kInjectWarps = 8;  // one for each 16 rows of B: tile/inject_tile.cuh
constexpr int kPivotWarps = 1;   // the serial chain
constexpr int kPanelWarps = 2;   // two rows of a panel for each thread
constexpr int kRestWarps = 1;    // ends at once, so that the panel team's are not on the pivot warp's scheduler
constexpr int kPanels = 8;       // H panels in shared memory: the sweep may be half a matrix ahead of the injection
constexpr int kStageRows = 64;   // of T's mirrored part: half of it at a time

// Derived. Warp w runs on scheduler w mod 4: the sweep's and the injection's are two on each, the pivot warp is on
// scheduler 0, the panel team's on 1 and 2.
constexpr int kInjectWarp = kSweepWarps;
constexpr int kPivotWarp = kInjectWarp + kInjectWarps;
constexpr int kPanelWarp = kPivotWarp + kPivotWarps;
constexpr int kRestWarp = kPanelWarp + kPanelWarps;
constexpr int kWarps = kRestWarp + kRestWarps;
constexpr int kSweepThreads = 32 * kSweepWarps;
constexpr int kInjectThreads = 32 * kInjectWarps;
constexpr int kPivotThreads = 32 * kPivotWarps;
constexpr int kPanelThreads = 32 * kPanelWarps;
constexpr int kThreads = 32 * kWarps;
// 20 warps are five on each of the four schedulers: 16384 / (5 * 32) = 102, down to a multiple of 8: 96 registers each.
constexpr int kCtasPerSm = 1;

constexpr int kPanelRows = kDim / kPanelThreads;  // of a thread of the panel team

// A warp's row panels have 16 words for each k, and 4 more: a multiple of 4 for the 16-byte loads, and the eight k,
// which are stored at once, begin in eight different banks.
constexpr int kInjectRows = kDim / kInjectWarps;
constexpr int kInjectPitch = kInjectRows + 4;

// The two updates, one k after the other in a loop: what 96 registers leave room for.
constexpr int kUpdateUnroll = 1;

// Rounds of `staged` for a matrix: a half is in the stage; it has been read; the other half is in the stage.
constexpr int kStagedRounds = 3;

static_assert(kSweepThreads == phases::kSquareThreads, "one thread for each (r, c)");
static_assert(kPivotWarps == 1 && kPivotWarp % 4 == 0 && kWarps == 20, "as drawn in kernel.cu");
static_assert(kPanelRows * kPanelThreads == kDim && kPanelThreads % 2 == 0, "the panel team shares the rows");
static_assert(kInjectWarps * kInjectRows == kDim, "the injection warps share the rows of B");
static_assert(kSteps % 2 == 0, "c and diag go by the parity of the step, over the end of a matrix too");
static_assert(kSteps % (2 * kPanels) == 0,
              "an even number of turns of the ring in a matrix: the parity of a turn goes by the step alone");
static_assert(2 * kStageRows == kDim && kStagedRounds % 2 == 1, "two halves; the parity of staged is count + round");

}  // namespace vdn_delta::compact
