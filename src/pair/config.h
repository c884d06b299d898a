// SPDX-License-Identifier: Apache-2.0
//
// Constants of the pair kernel: the choices, and what follows from them. Plain C++.
#pragma once

#include "phases/square_panels.h"
#include "shape.h"

namespace vdn_delta::pair {

// Ranks in the cluster.
constexpr int kLeader = 0;   // sweeps M
constexpr int kPartner = 1;  // carries B's rows along

// Choices; docs/decisions/0007 has the others that were tried, with their times.
constexpr int kSweepWarps = 8;   // leader: 256 threads (r, c) hold the symmetric matrix: tile/square_tile.cuh
constexpr int kPivotWarps = 1;   // leader: the serial chain
constexpr int kPanelWarps = 4;   // leader: one thread for each row of a panel
constexpr int kInjectWarps = 8;  // partner: one for each 16 rows of B: tile/inject_tile.cuh

// Derived. Warp w runs on scheduler w mod 4: the sweep's are two on each, the pivot warp is on scheduler 0, and the
// panel team's on 1, 2, 3 and 1. The warp between the third and the fourth of them would be on scheduler 0: it rests,
// since each instruction of the serial chain that has to wait for its turn there makes the step longer.
constexpr int kSchedulers = 4;
constexpr int kPivotWarp = kSweepWarps;
constexpr int kRestWarp = kPivotWarp + kSchedulers;
constexpr int kWarps = kSweepWarps + kPivotWarps + kPanelWarps + 1;
constexpr int kSweepThreads = 32 * kSweepWarps;
constexpr int kPivotThreads = 32 * kPivotWarps;
constexpr int kPanelThreads = 32 * kPanelWarps;
constexpr int kThreads = 32 * kWarps;
// 14 warps are four on two of the schedulers: 16384 / (4 * 32) = 128 registers each. Two CTAs on an SM would have 72.
constexpr int kCtasPerSm = 1;

// A warp's row panels have 16 words for each k, and 4 more: a multiple of 4 for the 16-byte loads, and the eight k,
// which are stored at once, begin in eight different banks.
constexpr int kInjectRows = kDim / kInjectWarps;
constexpr int kInjectPitch = kInjectRows + 4;

// Pivot blocks of successive steps and bad-pivot flags of successive matrices. The barriers order even a single one of
// each (docs/sync.md); four is what was measured.
constexpr int kPivotRing = 4;
constexpr int kBadRing = 4;

static_assert(kSweepThreads == phases::kSquareThreads, "one thread for each (r, c)");
static_assert(kPivotWarps == 1 && kPivotWarp % kSchedulers == 0 && kRestWarp < kWarps - 1, "as drawn in kernel.cu");
static_assert(kPanelThreads == kDim, "one thread for each row of a panel");
static_assert(kInjectWarps * kInjectRows == kDim && kInjectWarps <= kWarps, "the injection warps share the rows of B");
static_assert(kSteps % 2 == 0, "c, diag and row go by the parity of the step, over the end of a matrix too");

}  // namespace vdn_delta::pair
