// SPDX-License-Identifier: Apache-2.0
//
// For kernels with a seeded fault (faults/): runs the workloads under every schedule until something is found, prints
// "kind: text" and answers 0; answers 3 if nothing was found. Linked once for each fault.
#include <cstdio>

#include "trial.h"

int main() {
  using namespace vdn_delta;
  constexpr int kRandomSchedules = 6;
  int trials = 0;
  const std::vector<test::Workload> workloads = test::workloads();
  for (const host::Row& row : host::kDispatch) {
    if (!host::is_held(row)) continue;
    const test::Shape shape = test::shape_of(row);
    for (const emulator::Schedule& schedule : emulator::all_schedules(shape.ctas, shape.warps, kRandomSchedules)) {
      for (const test::Workload& workload : workloads) {
        ++trials;
        const test::Finding finding = test::run_trial(row, workload, schedule);
        if (finding.kind.empty()) continue;
        std::printf("%s: %s\n  %s, %s; %s; trial %d\n", finding.kind.c_str(), finding.text.c_str(), row.name,
                    workload.name.c_str(), emulator::describe(schedule).c_str(), trials);
        return 0;
      }
    }
  }
  std::printf("nothing found in %d trials\n", trials);
  return 3;
}
