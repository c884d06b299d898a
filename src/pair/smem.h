// SPDX-License-Identifier: Apache-2.0
//
// The shared memory of the pair kernel, and its barriers. Plain C++.
#pragma once

#include <cstdint>

#include "pair/config.h"
#include "phases/panels.h"
#include "phases/square_panels.h"
#include "shape.h"

namespace vdn_delta::pair {

struct LeaderSmem {
  phases::SquareStage stage;
  phases::SquareC raw[2];      // the columns of block s, before step s - 1: sweep to panel and pivot
  phases::SquarePanel g[2];    // panel to sweep
  phases::SquarePanel e[2];
  phases::SquareRows both;     // G and E of block s + 1's rows: panel to panel
  phases::SquareNext next;     // C of block s + 1's rows: panel to pivot
  phases::SquarePivot pivot[kPivotRing];
  phases::DiagBlock spread;    // the pivot warp's own
  phases::PivotScratch scratch;
  float alpha[2][kDim];
  int bad[kBadRing];
};
struct PartnerSmem {
  phases::HPanel h[kPanels];
  phases::RowPanelOf<kInjectPitch> row[kInjectWarps][2];
  int bad;  // pushed with the last panel
};
struct alignas(128) Smem {
  union {
    LeaderSmem leader;
    PartnerSmem partner;
  };
  std::uint64_t h_ready[kPanels];  // partner's: 1 and the bytes of the panel; waits: injection warps
  std::uint64_t h_free[kPanels];   // leader's: one lane of each injection warp; waits: H warps, from the second matrix on
};
constexpr int kPanelBytes = sizeof(phases::HPanel);
constexpr int kHReadyArrivals = 1;
constexpr int kHFreeArrivals = kInjectWarps;

// Named barriers; id 0 is the CTA's own.
enum Barrier : int {
  kPivoted = 1,  // pivot[s], next: pivot and panel
  kSolved = 2,   // g, e, both of step s; raw of step s + 1: everybody
  kStaged = 3,   // T's mirrored part is in the stage: sweep
};
constexpr int kPivotedThreads = kPivotThreads + kPanelThreads;
constexpr int kSolvedThreads = kThreads;

static_assert(sizeof(Smem) <= 227 * 1024, "what a CTA can have on sm_90 and sm_100");

}  // namespace vdn_delta::pair
