// SPDX-License-Identifier: Apache-2.0
//
// Constants of the pair kernel. Plain C++.
#pragma once

#include "phases/panels.h"
#include "shape.h"

namespace vdn_delta::pair {

constexpr int kCluster = 2;  // leader and partner
constexpr int kSweepWarps = 8;   // leader: 256 threads (r, c) hold the symmetric matrix: tile/square_tile.cuh
constexpr int kPivotWarps = 1;   // leader: the serial chain, on scheduler 0
constexpr int kPanelWarps = 4;   // leader: one thread a row, G, E and H of a step, on schedulers 1, 2, 3 and 1
constexpr int kInjectWarps = 8;  // partner: one for each 16 rows of B
constexpr int kPanels = kSteps;

constexpr int kPivotThreads = 32 * kPivotWarps;
constexpr int kPanelThreads = 32 * kPanelWarps;
constexpr int kSweepThreads = 32 * kSweepWarps;
constexpr int kRestWarp = 12;    // scheduler 0 has enough to do
constexpr int kWarps = 14;
constexpr int kThreads = 32 * kWarps;
constexpr int kCtasPerSm = 1;
constexpr int kInjectRows = kDim / kInjectWarps;  // of a warp
constexpr int kInjectPitch = kInjectRows + 4;
constexpr int kBadRing = 4;
constexpr int kPivotRing = 4;

}  // namespace vdn_delta::pair
