// SPDX-License-Identifier: Apache-2.0
//
// Constants of the single-CTA kernel: the problem's, the choices, what follows from them. Plain C++.
#pragma once

#include "phases/panels.h"
#include "shape.h"

namespace vdn_delta::single {

// Choices; docs/decisions/0010 has the others that were tried, with their times.
constexpr int kTeams = 2;            // sweep teams, of which each has every second matrix of the CTA
constexpr int kSweepWarps = 4;       // of a team: 128 threads (r, c) hold the symmetric matrix: tile/sweep_tile.cuh
constexpr int kInjectWarps = 4;      // one for each 32 rows of B: tile/turn_tile.cuh
constexpr int kPivotWarps = kTeams;  // the serial chains, one warp for each team
constexpr int kCopyWarps = 2;        // A and T, two rows a copy, by one thread; the second warp ends at once
constexpr int kPanels = 12;          // H panels in shared memory, a ring that both teams fill in the matrices' order

// Registers of a thread once they are dealt out anew, by the compiler's need (sm_90a: 170, 134, 60).
constexpr int kInjectRegisters = 176;
constexpr int kSweepRegisters = 136;
constexpr int kOtherRegisters = 64;

// The step at which an injection warp asks for its next rows. Before it, it waits for its last store to have been read
// out of the stage, 16 KB at tens of bytes a clock, which two steps of some 3000 clocks each leave time for; behind it,
// 13 steps are left for the load.
constexpr int kPrefetchStep = 2;

// Derived.
constexpr int kSweepThreads = 32 * kSweepWarps;
constexpr int kInjectThreads = 32 * kInjectWarps;
constexpr int kPivotThreads = 32 * kPivotWarps;
constexpr int kThreads = kTeams * kSweepThreads + kInjectThreads + kPivotThreads + 32 * kCopyWarps;
// What the kernel is launched with: 65536 registers for 512 threads.
constexpr int kLaunchRegisters = 65536 / kThreads;
static_assert(kInjectRegisters + kTeams * kSweepRegisters + kOtherRegisters <= 4 * kLaunchRegisters,
              "each warpgroup is a fourth of the threads, and has a warp on each scheduler");
static_assert(kThreads == 4 * 128, "four warpgroups: injection, team 0, team 1, others");
constexpr int kCtasPerSm = 1;

// Bad-pivot flags of successive matrices: a flag is dead when the ring comes round. The pivot block of step 0 of m + 4
// waits for panel 15 of m + 2, and so for the injection to have used a panel of m + 1.
constexpr int kBadRing = 4;

static_assert(kSweepThreads == kRowCycle * kColumnCycle, "one thread for each (r, c)");
static_assert(kSweepThreads == kDim, "one thread for each row in the solve");
static_assert(kInjectWarps * phases::kInjectWarpRows == kDim, "the injection warps share the rows of B");
static_assert(kTeams == 2 && kPanels <= kSteps && kSteps < 2 * kPanels,
              "the panel before at a matrix's first place is the other team's, the one before that the team's own");

}  // namespace vdn_delta::single
