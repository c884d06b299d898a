// SPDX-License-Identifier: Apache-2.0
//
// Clock samples of the roles, for bench --timeline, which compiles the kernel a second time with VDN_TIMELINE. Nothing
// in the library: mark() is empty there.
#pragma once

#include "arch/target.cuh"
#include "shape.h"

namespace vdn_delta::pair {

// Who samples: one thread of each role, in the first matrix of cluster 0.
enum TimelineRow : int { kSweepRow, kPivotRow, kPanelRow, kInjectRow, kTimelineRows };

// When: three samples a step, in the order in which the role comes by, and three besides.
constexpr int kTimelineStep = 3;
constexpr int kTimelineBegin = kTimelineStep * kSteps;  // behind the cluster's first barrier: zero of both CTAs' clocks
constexpr int kTimelineLoaded = kTimelineBegin + 1;
constexpr int kTimelineEnd = kTimelineBegin + 2;
constexpr int kTimelineMarks = kTimelineBegin + 3;

#if defined(VDN_TIMELINE)
__device__ unsigned timeline_marks[kTimelineRows][kTimelineMarks];
VDN_DEVICE void mark(bool mine, TimelineRow row, int when) {
  if (mine && arch::block_index() < 2) timeline_marks[row][when] = static_cast<unsigned>(clock64());
}
#else
VDN_DEVICE void mark(bool, TimelineRow, int) {}
#endif

}  // namespace vdn_delta::pair
