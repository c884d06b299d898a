// SPDX-License-Identifier: Apache-2.0
//
// The shared memory of the pair kernel, and its barriers. Plain C++. Both CTAs have the same struct; each uses its own
// half of the union. What carries PEER is written, or arrived at, by the other CTA. Edges E1 to E8: docs/sync.md.
//
// clang-format off
//   region         written by                       read by                           dead when
//   Leader:
//   c[s % 2]       sweep after step s - 1           panel team and pivot warp, in     solved of step s + 1 is complete
//                                                   step s
//   diag[s % 2]    sweep after step s - 2           pivot warp, forming S_s           solved of step s is complete
//   g, e           panel team, step s               sweep, update of step s           published of step s + 1 is complete
//   pivot[s % 4]   pivot warp, S_s                  panel team in step s; pivot warp  pivoted of step s + 1 is complete
//                                                   forming S_(s+1)
//   scratch        pivot warp                       the same warp                     within a step
//   alpha[m % 2]   sweep, start of m                the same, at its end              staged of m is complete
//   bad[m % 4]     pivot warp, step 15 of m         thread 0 of the panel team, same  published of the next step 0
//                                                   step; sweep at the end of m
//   stage          sweep, end of m                  the same, behind staged          solved of the next step 0
//   Partner:
//   h[s]           PEER: panel team, step s         injection, step s                 E5: all of h_free[s] have arrived
//   bad            PEER: thread 0 of the panel      injection, step 15                E5: the same of the last step
//                  team, step 15
//   row[w][s % 2]  injection warp w, step s         the same warp, step s             its warp barrier of step s + 1
// clang-format on
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
  phases::HPanel h[kSteps];  // PEER
  phases::RowPanelOf<kInjectPitch> row[kInjectWarps][2];
  int bad;  // PEER: pushed with the last panel
};
struct alignas(128) Smem {
  union {
    LeaderSmem leader;
    PartnerSmem partner;
  };
  // One for each panel, whose place is its step: waits go by the parity of the matrix count.
  std::uint64_t h_ready[kSteps];  // the partner's. Arrivals: 1 of its own, which expects panel_bytes(s), and PEER:
                                  // those bytes; waits: injection warps
  std::uint64_t h_free[kSteps];  // the leader's. Arrivals: PEER: a lane of each injection warp, unless there is no next
                                 // matrix; waits: panel team, from the second matrix on
  // The leader's own. A phase is a step (staged: a matrix), and whoever waits waits for every one. Every thread arrives
  // for itself: that is what orders its accesses, and what the sanitizers can follow.
  std::uint64_t published;  // c[s] and diag[s + 1] are complete, pivot[s] is taken. Arrivals: sweep and panel team;
                            // waits: pivot warp and panel team
  std::uint64_t pivoted;    // pivot[s], and with the last one bad, is complete. Arrivals: pivot warp; waits: panel team
  std::uint64_t solved;     // g and e are complete. Arrivals: panel team; waits: sweep
  std::uint64_t staged;     // T's mirrored part is in the stage. Arrivals and waits: sweep
};
constexpr int kHReadyArrivals = 1;  // and the bytes
constexpr int kHFreeArrivals = kInjectWarps;

// The bytes that complete h_ready[s]: the panel, and with the last one the flag.
constexpr int kPanelBytes = sizeof(phases::HPanel);
constexpr int panel_bytes(int s) { return kPanelBytes + (s + 1 == kSteps ? static_cast<int>(sizeof(int)) : 0); }

constexpr int kPublishedArrivals = kSweepThreads + kPanelThreads;
constexpr int kPivotedArrivals = kPivotThreads;
constexpr int kSolvedArrivals = kPanelThreads;
constexpr int kStagedArrivals = kSweepThreads;

static_assert(sizeof(Smem) == 87424, "as the head of kernel.cu says");
static_assert(sizeof(Smem) <= 227 * 1024, "what a CTA can have on sm_90 and sm_100");

}  // namespace vdn_delta::pair
