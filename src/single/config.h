// SPDX-License-Identifier: Apache-2.0
//
// Constants of the single-CTA kernel: the problem's, the choices, what follows from them. Plain C++.
#pragma once

#include "phases/panels.h"
#include "shape.h"

namespace vdn_delta::single {

// Choices; docs/decisions/0002 has the others that were tried, with their times.
constexpr int kTeams = 2;        // sweep teams, of which each has every second matrix of the CTA
constexpr int kSweepWarps = 4;   // of a team: 128 threads (r, c) hold the symmetric matrix: tile/sweep_tile.cuh
constexpr int kInjectWarps = 4;  // one for each 32 rows of B: tile/turn_tile.cuh
constexpr int kPivotWarps = kTeams;  // the serial chains, one warp for each team
constexpr int kCopyWarps = 2;        // A and T row by row, since their stage's rows are padded; one of them does nothing
#ifndef PANELS
#define PANELS 12
#endif
constexpr int kPanels = PANELS;  // H panels in shared memory, a ring that both teams fill in the order of the matrices

// The step at which an injection warp asks for its next rows. Before it, it waits for its last store to have been read
// out of the stage, 16 KB at tens of bytes a clock, which two steps of some 3000 clocks each leave time for; behind it,
// 13 steps are left for the load.
constexpr int kPrefetchStep = 2;

// Derived.
constexpr int kSweepThreads = 32 * kSweepWarps;
constexpr int kInjectThreads = 32 * kInjectWarps;
constexpr int kPivotThreads = 32 * kPivotWarps;
constexpr int kThreads = kTeams * kSweepThreads + kInjectThreads + kPivotThreads + 32 * kCopyWarps;
// 16 warps are four on each of the four schedulers: 16384 / (4 * 32) = 128 registers each, which are dealt out anew.
#ifndef RI
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1000
#define RI 200
#define RS 128
#define RP 56
#else
#define RI 176
#define RS 136
#define RP 64
#endif
#endif
constexpr int kInjectRegisters = RI;
constexpr int kSweepRegisters = RS;
constexpr int kOtherRegisters = RP;
static_assert(kInjectRegisters + kTeams * kSweepRegisters + kOtherRegisters <= 4 * 128, "a warp of each on a scheduler");
static_assert(kThreads == 4 * 128, "four warpgroups");
constexpr int kCtasPerSm = 1;

// Bad-pivot flags of successive matrices: a flag is dead when the ring comes round. The pivot block of step 0 of m + 4
// waits for panel 15 of m + 2, and so for the injection to have used a panel of m + 1.
constexpr int kBadRing = 4;

static_assert(kSweepThreads == kRowCycle * kColumnCycle, "one thread for each (r, c)");
static_assert(kSweepThreads == kDim, "one thread for each row in the solve");
static_assert(kInjectWarps * phases::kInjectWarpRows == kDim, "the injection warps share the rows of B");
static_assert(kPanels <= kSteps, "two barriers for each step: a phase is every second matrix");

}  // namespace vdn_delta::single
