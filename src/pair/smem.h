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
  phases::SquareC c[2];
  phases::SquarePanel g;
  phases::SquarePanel e;
  phases::PivotBlock pivot[kPivotRing];
  phases::DiagBlock diag[2];
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
  kPanel = 1,    // c[s], diag[s + 1] are complete: the sweep arrives; pivot and panel wait
  kSolved = 2,   // g and e are complete: sweep and panel
  kStaged = 3,   // T's mirrored part is in the stage: sweep
  kPivoted = 4,  // pivot[s] is complete: the pivot warp arrives; the panel waits
};
constexpr int kPanelBarrierThreads = kSweepThreads + kPivotThreads + kPanelThreads;
constexpr int kPivotedThreads = kPivotThreads + kPanelThreads;
constexpr int kSolvedThreads = kSweepThreads + kPanelThreads;

static_assert(sizeof(Smem) <= 227 * 1024, "what a CTA can have on sm_90 and sm_100");

}  // namespace vdn_delta::pair
