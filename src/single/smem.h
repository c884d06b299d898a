// SPDX-License-Identifier: Apache-2.0
//
// The shared memory of the single-CTA kernel, and its barriers. Plain C++.
//
// clang-format off
//   region         written by                       read by                           dead when
//   h[s]           sweep team, step s               injection team, step s            all of h_free[s] have arrived
//   c[s % 2]       sweep team after step s - 1      sweep team and the pivot warp of  panel_ready of step s + 1 is
//                                                   step s + 1, both in step s        complete
//   g, e           sweep team, step s               sweep team, step s                the same
//   diag[s % 2]    sweep team after step s - 2      pivot warp of step s              the same, of step s
//   pivot[s % 2]   pivot warp of step s             sweep team and the next pivot     the same, of step s + 1
//                                                   warp, step s
//   row[w][s % 2]  injection warp w, step s         the same warp, step s             two steps later
//   scratch[w]     pivot warp w                     the same warp                     within a step
//   alpha[m % 2]   sweep team, matrix m             the same, at its end              matrix m + 2
//   bad[m % 4]     pivot warps, each step of m      both teams, at the matrix's end   matrix m + 4
//   *_stage        bulk loads, then the team        the team, then bulk stores        the stores have read it
// clang-format on
#pragma once

#include <cstdint>

#include "phases/panels.h"
#include "shape.h"
#include "single/config.h"

namespace vdn_delta::single {

struct alignas(128) Smem {
  phases::HPanel h[kPanels];
  phases::CPanel c[2];
  phases::CPanel g;
  phases::HPanel e;
  phases::SweepStage sweep_stage;
  phases::InjectStage inject_stage;
  phases::PivotBlock pivot[2];
  phases::DiagBlock diag[2];
  phases::RowPanel row[kInjectWarps][2];
  phases::PivotScratch scratch[kPivotWarps];
  float alpha[2][kDim];
  int bad[kBadRing];
  // Every thread arrives for itself: that is what orders its accesses, and what the sanitizers can follow.
  std::uint64_t panel_ready[kPivotWarps];  // c[s], diag[s + 1] and pivot[s] are complete; arrivals: sweep team and the
                                           // step's pivot warp; waits: sweep team and the next pivot warp. One for each
                                           // pivot warp: a wait by parity must not begin a phase early
  std::uint64_t solved;                    // g and e are complete; arrivals and waits: sweep team
  std::uint64_t h_ready[kPanels];          // h[s] is complete; arrivals: sweep team; waits: injection team
  std::uint64_t h_free[kPanels];           // h[s] has been used; arrivals: injection team; waits: sweep team
  std::uint64_t a_ready;                   // arrivals: 1 and the bytes of A; waits: sweep team
  std::uint64_t t_ready;                   // arrivals: sweep team after its exchange; waits: copy warp
  std::uint64_t b_ready[kInjectWarps];     // arrivals: 1 and the bytes of 32 rows of B; waits: that warp
};
constexpr int kPanelReadyArrivals = kSweepThreads + 32;
constexpr int kSolvedArrivals = kSweepThreads;
constexpr int kHReadyArrivals = kSweepThreads;
constexpr int kHFreeArrivals = kInjectThreads;
constexpr int kTReadyArrivals = kSweepThreads;
constexpr int kAReadyArrivals = 1;  // and the bytes
constexpr int kBReadyArrivals = 1;  // and the bytes

// Named barriers; id 0 is the CTA's own.
enum Barrier : int {
  kStaged = 1,  // the sweep's stage is complete: sweep team, not in the steady state
};
constexpr int kStagedThreads = kSweepThreads;

static_assert(sizeof(Smem) == 228352, "as the head of kernel.cu says");
static_assert(sizeof(Smem) <= 227 * 1024, "what a CTA can have on sm_90 and sm_100");

}  // namespace vdn_delta::single
