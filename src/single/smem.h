// SPDX-License-Identifier: Apache-2.0
//
// The shared memory of the single-CTA kernel, and its barriers. Plain C++.
//
// clang-format off
//   region         written by                       read by                           dead when
//   h[n % 12]      the sweep team of panel n        injection team, panel n           all of its h_free have arrived
//   c[s % 2]       sweep team after step s - 1      sweep team and the pivot warp of  panel_ready of step s + 1 is
//                                                   step s + 1, both in step s        complete
//   g, e           sweep team, step s               sweep team, step s                the same
//   diag[s % 2]    sweep team after step s - 2      pivot warp of step s              the same, of step s
//   pivot[s % 2]   pivot warp of step s             sweep team and the next pivot     the same, of step s + 1
//                                                   warp, step s
//   row[w][s % 2]  injection warp w at the end of   the same warp, step s             at the end of step s + 1
//                  step s - 1
//   scratch[w]     pivot warp w                     the same warp                     within a step
//   alpha[m/2 % 2] sweep team, matrix m             the same, at its end              matrix m + 4
//   bad[m % 4]     pivot warp, each step of m       sweep and injection, at the end   matrix m + 4
//   *_stage        bulk loads, then the team        the team, then bulk stores        the stores have read it
// clang-format on
// Two sweep teams, of which each has all but h, the stages and bad for itself; steps are those of the team, counted on
// over its matrices. The order in which everything happens is in docs/design.md, section 7.
#pragma once

#include <cstdint>

#include "phases/panels.h"
#include "shape.h"
#include "single/config.h"

namespace vdn_delta::single {

// What a sweep team has for itself. Of the matrices of the CTA, 0, 1, 2, ..., team t does t, t + 2, ...
struct alignas(16) Team {
  phases::CPanel c[2];
  phases::CPanel g;
  phases::HPanel e;
  phases::PivotBlock pivot[2];
  phases::DiagBlock diag[2];
  phases::PivotScratch scratch;
  float alpha[2][kDim];
  // Every thread arrives for itself: that is what orders its accesses, and what the sanitizers can follow.
  std::uint64_t panel_ready;  // c[s], diag[s + 1] and pivot[s] are complete; arrivals, waits: sweep team and pivot warp
  std::uint64_t a_ready;      // the stage is this team's; arrivals: 1 and the bytes of A; waits: sweep team
};
struct alignas(128) Smem {
  phases::HPanel h[kPanels];  // panel n = 16 m + s lies at n % kPanels
  Team team[kTeams];
  phases::SweepStage sweep_stage;
  phases::TurnStage inject_stage[kInjectWarps];
  phases::RowPanel row[kInjectWarps][2];
  int bad[kBadRing];
  std::uint64_t h_ready[kPanels];  // the panel at this place is complete; arrivals: its team; waits: injection team,
                                   // and the other team before it begins a matrix
  std::uint64_t h_free[kPanels];   // it has been used; arrivals: injection team; waits: the team of the next one here
  std::uint64_t t_ready;           // arrivals: the sweep team whose turn it is, after its exchange; waits: copy warp
  std::uint64_t b_ready[kInjectWarps];  // arrivals: 1 and the bytes of 32 rows of B; waits: that warp
};
constexpr int kPanelReadyArrivals = kSweepThreads + 32;
constexpr int kHReadyArrivals = kSweepThreads;
constexpr int kHFreeArrivals = kInjectThreads;
constexpr int kTReadyArrivals = kSweepThreads;
constexpr int kAReadyArrivals = 1;  // and the bytes
constexpr int kBReadyArrivals = 1;  // and the bytes

// Named barriers, one for each sweep team; id 0 is the CTA's own.
enum Barrier : int {
  kStaged = 1,                 // and the next: the sweep's stage is complete: the team, not in the steady state
  kSolved = kStaged + kTeams,  // and the next: g and e are complete: the team
};
constexpr int kStagedThreads = kSweepThreads;
constexpr int kSolvedThreads = kSweepThreads;

static_assert(sizeof(Smem) <= 227 * 1024, "what a CTA can have on sm_90 and sm_100");

}  // namespace vdn_delta::single
