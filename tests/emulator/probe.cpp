// SPDX-License-Identifier: Apache-2.0
//
// For kernels with a seeded fault (faults/): runs the workloads under every schedule until something is found, prints
// "kind: text" and answers 0; answers 3 if nothing was found. Linked once for each fault.
//
//     probe EVERY [VARIANT...]     every EVERY-th schedule; of these variants, or of all
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "trial.h"

int main(int argc, char** argv) {
  using namespace vdn_delta;
  constexpr int kRandomSchedules = 6;
  const auto every = static_cast<std::size_t>(argc > 1 ? std::max(1, std::atoi(argv[1])) : 1);
  int trials = 0;
  const std::vector<test::Workload> workloads = test::workloads();
  for (const host::Row* held : test::held_rows()) {
    const host::Row& row = *held;
    if (argc > 2 && std::find(argv + 2, argv + argc, std::string(row.name)) == argv + argc) continue;
    const test::Shape shape = test::shape_of(row);
    const std::vector<emulator::Schedule> all = emulator::all_schedules(shape.ctas, shape.warps, kRandomSchedules);
    for (std::size_t i = 0; i < all.size(); i += every) {
      const emulator::Schedule& schedule = all[i];
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
