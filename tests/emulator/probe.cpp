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
#include <vector>

#include "trial.h"

int main(int argc, char** argv) {
  using namespace vdn_delta;
  constexpr int kRandomSchedules = 6;
  const auto every = static_cast<std::size_t>(argc > 1 ? std::max(1, std::atoi(argv[1])) : 1);
  int trials = 0;
  const std::vector<test::Workload> workloads = test::workloads();
  struct Held {
    const host::Row* row;
    std::vector<emulator::Schedule> schedules;
  };
  std::vector<Held> held;
  std::size_t most = 0;
  for (const host::Row* row : test::held_rows()) {
    if (argc > 2 && std::find(argv + 2, argv + argc, std::string(row->name)) == argv + argc) continue;
    const test::Shape shape = test::shape_of(*row);
    held.push_back({row, emulator::all_schedules(shape.ctas, shape.warps, kRandomSchedules)});
    most = std::max(most, held.back().schedules.size());
  }
  // A schedule with every variant before the next one: the fault may be in a phase that one of them alone has, and the
  // first schedules find most.
  for (std::size_t i = 0; i < most; i += every) {
    for (const Held& variant : held) {
      if (i >= variant.schedules.size()) continue;
      const emulator::Schedule& schedule = variant.schedules[i];
      for (const test::Workload& workload : workloads) {
        ++trials;
        const test::Finding finding = test::run_trial(*variant.row, workload, schedule);
        if (finding.kind.empty()) continue;
        std::printf("%s: %s\n  %s, %s; %s; trial %d\n", finding.kind.c_str(), finding.text.c_str(), variant.row->name,
                    workload.name.c_str(), emulator::describe(schedule).c_str(), trials);
        return 0;
      }
    }
  }
  std::printf("nothing found in %d trials\n", trials);
  return 3;
}
