// SPDX-License-Identifier: Apache-2.0
//
// The shared memory of the compact kernel, and its barriers. Plain C++. docs/sync.md argues for each.
//
// clang-format off
//   region         written by                       read by                           dead when
//   h[s % 8]       panel team, step s               injection, step s                 all of h_free[s % 8] have arrived
//   stage          sweep, end of m, half by half    the same, behind staged           staged, the next round; after the
//                                                                                     last half solved of the next step 0
//   c[s % 2]       sweep after step s - 1           panel team and pivot warp, in     solved of step s + 1 is complete
//                                                   step s
//   diag[s % 2]    sweep after step s - 2           pivot warp, forming S_s           solved of step s is complete
//   g, e           panel team, step s               sweep, update of step s           published of step s + 1 is complete
//   pivot          pivot warp, S_s                  panel team in step s; pivot warp  published of step s is complete, and
//                                                   forming S_(s+1)                   S_(s+1) is formed
//   scratch        pivot warp                       the same warp                     within a step
//   row[w][s % 2]  injection warp w, step s         the same warp, step s             its warp barrier of step s + 1
//   alpha          sweep, start of m                the same, at its end              the last round of staged
//   bad            pivot warp, step 15 of m         sweep and injection, at the       published of the next step 0, and
//                                                   end of m                          h_free of the next step 0
// clang-format on
#pragma once

#include <cstdint>

#include "compact/config.h"
#include "phases/panels.h"
#include "phases/square_panels.h"
#include "shape.h"

namespace vdn_delta::compact {

struct alignas(128) Smem {
  phases::HPanel h[kPanels];
  phases::SquareStageOf<kStageRows> stage;
  phases::SquareC c[2];
  phases::SquarePanel g;
  phases::SquarePanel e;
  phases::PivotBlock pivot;
  phases::DiagBlock diag[2];
  phases::PivotScratch scratch;
  phases::RowPanelOf<kInjectPitch> row[kInjectWarps][2];
  float alpha[kDim];
  int bad;
  // Every thread arrives for itself: that is what orders its accesses, and what the sanitizers can follow. A phase of
  // h_ready and h_free is a turn of the ring; of staged a round; of the others a step, and whoever waits waits for
  // every one.
  std::uint64_t h_ready[kPanels];  // h[s % 8] is complete, and with the last one bad. Arrivals: panel team; waits:
                                   // injection
  std::uint64_t h_free[kPanels];   // h[s % 8] has been used. Arrivals: injection; waits: panel team
  std::uint64_t published;         // c[s] and diag[s + 1] are complete, pivot is taken. Arrivals: sweep and panel team;
                                   // waits: pivot warp and panel team
  std::uint64_t pivoted;           // pivot, and with the last one bad, is complete. Arrivals: pivot warp; waits: panel
                                   // team
  std::uint64_t solved;            // g and e are complete. Arrivals: panel team; waits: sweep
  std::uint64_t staged;            // a half of T's mirrored part is in the stage, or out of it. Arrivals and waits:
                                   // sweep
};
constexpr int kHReadyArrivals = kPanelThreads;
constexpr int kHFreeArrivals = kInjectThreads;
constexpr int kPublishedArrivals = kSweepThreads + kPanelThreads;
constexpr int kPivotedArrivals = kPivotThreads;
constexpr int kSolvedArrivals = kPanelThreads;
constexpr int kStagedArrivals = kSweepThreads;

// What a CTA can have on sm_86, sm_89 and sm_120: 100 KB of an SM, of which the system keeps one for each CTA.
constexpr int kSharedLimit = (100 - 1) * 1024;
static_assert(sizeof(Smem) == 95616, "as the head of kernel.cu says");
static_assert(sizeof(Smem) <= kSharedLimit, "what a CTA can have on every machine from sm_80 on");

}  // namespace vdn_delta::compact
