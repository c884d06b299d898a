// SPDX-License-Identifier: Apache-2.0
//
// Constants of the pair kernel. Plain C++.
#pragma once

#include "phases/panels.h"
#include "shape.h"

#ifndef VDN_PAIR_CTAS
#define VDN_PAIR_CTAS 1
#endif
#ifndef VDN_PAIR_H_WARPS
#define VDN_PAIR_H_WARPS 2
#endif

namespace vdn_delta::pair {

constexpr int kCluster = 2;      // leader and partner
constexpr int kSweepWarps = 8;   // leader: 256 threads (r, c) hold the symmetric matrix: tile/square_tile.cuh
constexpr int kPivotWarps = 1;   // leader: the serial chain
constexpr int kHWarps = VDN_PAIR_H_WARPS;  // leader: H = E W, pushed to the partner
constexpr int kInjectWarps = 8;  // partner: one for each 16 rows of B
constexpr int kPanels = kSteps;

constexpr int kSweepThreads = 32 * kSweepWarps;
constexpr int kHThreads = 32 * kHWarps;
constexpr int kThreads = 32 * (kSweepWarps + kPivotWarps + kHWarps);
constexpr int kCtasPerSm = VDN_PAIR_CTAS;
constexpr int kInjectRows = kDim / kInjectWarps;  // of a warp
constexpr int kInjectPitch = kInjectRows + 4;
constexpr int kBadRing = 4;
constexpr int kPivotRing = 4;

}  // namespace vdn_delta::pair
