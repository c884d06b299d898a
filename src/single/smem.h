// SPDX-License-Identifier: Apache-2.0
//
// The shared memory of the single-CTA kernel, and its barriers. Plain C++.
//
//   region      written by                    read by                            dead when
//   h[s]        solve warps, step s           sweep + injection team, step s     every injection warp has arrived at
//                                                                                h_free[s] and the sweep team is a step on
//   c[s % 2]    sweep team after step s - 1   solve and pivot warps, sweep team  the sweep team is at step s + 1
//   diag[s % 2] sweep team after step s - 2   pivot warp, before step s          the pivot warp is at step s
//   pivot[s%2]  pivot warp, before step s     solve and pivot warps, step s      the pivot warp is at step s + 1
//   row[w]      injection warp w, step s      the same warp, step s              two steps later
//   g           pivot warp                    the same warp                      within a step
//   alpha[m%2]  sweep team, matrix m          the same, at its end               matrix m + 2
//   bad[m % 2]  pivot warp, matrix m          both teams, at the matrix's end    matrix m + 2
#pragma once

#include <cstdint>

#include "phases/panels.h"
#include "shape.h"
#include "single/config.h"

namespace vdn_delta::single {

struct alignas(128) Smem {
  phases::HPanel h[kPanels];
  phases::CPanel c[2];
  phases::PivotBlock pivot[2];
  phases::DiagBlock diag[2];
  phases::RowPanel row[kInjectWarps][2];
  phases::SweepStage sweep_stage;
  phases::InjectStage inject_stage;
  phases::PivotScratch scratch;
  float alpha[2][kDim];
  int bad[kBadRing];
  std::uint64_t h_ready[kPanels];  // arrivals: 1, a sweep thread after the solve; waits: injection warps
  std::uint64_t h_free[kPanels];   // arrivals: each injection warp after its update; waits: solve warps
  std::uint64_t a_ready;           // arrivals: 1 and the bytes of A; waits: sweep team
  std::uint64_t b_ready[kInjectWarps];  // arrivals: 1 and the bytes of 16 rows of B; waits: that warp
};

// Named barriers; id 0 is the CTA's own.
enum Barrier : int {
  kPanelReady = 1,  // c[s], diag[s + 1] and pivot[s] are complete: sweep team
  kSolved = 2,      // h[s] is complete: the sweep team; the pivot warp of the step arrives and does not wait
  kStaged = 3,      // the sweep's stage holds T: sweep team
};

static_assert(sizeof(Smem) <= 227 * 1024, "what a CTA can have on sm_90 and sm_100");

}  // namespace vdn_delta::single
