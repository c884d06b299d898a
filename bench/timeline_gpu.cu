// SPDX-License-Identifier: Apache-2.0
//
// The pair kernel once more, with its clock samples, and what bench --timeline reads from them.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

#include "gpu_memory.h"
#include "timeline.h"

// A copy beside the library's: in a namespace of its own, with marks.
#define VDN_TIMELINE
#define pair pair_with_marks
#include "../src/pair/kernel.cu"
#undef pair

namespace vdn_delta::bench {
namespace {

namespace traced = vdn_delta::pair_with_marks;
constexpr int kRuns = 21;  // the median of these is shown
constexpr int kMarks = traced::kTimelineMarks;

struct Run {
  unsigned mark[traced::kTimelineRows][kMarks];
  double at(int row, int when) const {
    return static_cast<double>(mark[row][when] - mark[row][traced::kTimelineBegin]);
  }
  double end() const {
    return std::max(at(traced::kSweepRow, traced::kTimelineEnd), at(traced::kInjectRow, traced::kTimelineEnd));
  }
};

// What lies between two samples of a role: `what` has a name for each of the three spans of a step, the first of which
// begins at the last sample of the step before; "" is waiting.
Timeline::Role role_of(const Run& run, const char* name, int row, const char* const (&what)[3], bool loads,
                       bool stores) {
  Timeline::Role role{name, {}};
  double before = 0;
  const auto add = [&](int step, const char* kind, double end) {
    if (*kind != 0) role.spans.push_back({step, kind, before, end});
    before = end;
  };
  if (loads) add(-1, "load", run.at(row, traced::kTimelineLoaded));
  const int last = row == traced::kPivotRow ? 1 : traced::kTimelineStep;  // the last pivot block has nothing behind it
  for (int s = 0; s < kSteps; ++s) {
    for (int i = 0; i < (s + 1 == kSteps ? last : traced::kTimelineStep); ++i) {
      if (s + 1 == kSteps && row == traced::kSweepRow && i == 2) continue;  // no columns to publish
      add(s, what[i], run.at(row, traced::kTimelineStep * s + i));
    }
  }
  if (stores) add(-1, "store", run.at(row, traced::kTimelineEnd));
  return role;
}

}  // namespace

Timeline measure_timeline(const std::string& gpu) {
  traced::KernelFacts facts;
  check(traced::prepare(&facts), "the pair kernel cannot run here");
  if (facts.clusters < 1) throw std::runtime_error("no cluster of two CTAs fits on this GPU");
  // A = I, B = 0: the same instructions run for all values.
  DeviceArray<float> A(kElements), B(kElements), alpha(kDim), T(kElements), J(kElements);
  std::vector<float> zeros(kElements), identity(kElements), ones(kDim, 1.0f);
  for (int i = 0; i < kDim; ++i) identity[static_cast<std::size_t>(i * (kDim + 1))] = 1.0f;
  A.upload(identity.data()), B.upload(zeros.data()), alpha.upload(ones.data());
  Params params{A.get(), B.get(), alpha.get(), T.get(), J.get(), nullptr, 1, 1.0f, 1.0f};
  std::vector<Run> runs(kRuns);
  for (Run& run : runs) {
    check(traced::launch(params, {1, false}, nullptr), "launch");
    check(cudaMemcpyFromSymbol(run.mark, traced::timeline_marks, sizeof run.mark), "cudaMemcpyFromSymbol");
  }
  std::sort(runs.begin(), runs.end(), [](const Run& a, const Run& b) { return a.end() < b.end(); });
  const Run& run = runs[kRuns / 2];

  Timeline timeline;
  timeline.gpu = gpu;
  timeline.roles.push_back(role_of(run, "sweep", traced::kSweepRow, {"", "update", "publish"}, true, true));
  timeline.roles.push_back(role_of(run, "pivot", traced::kPivotRow, {"factor", "", "form"}, true, false));
  timeline.roles.push_back(role_of(run, "panel", traced::kPanelRow, {"", "solve", "push H"}, false, false));
  timeline.roles.push_back(role_of(run, "inject", traced::kInjectRow, {"publish", "", "update"}, true, true));
  return timeline;
}

}  // namespace vdn_delta::bench
