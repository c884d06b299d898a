// SPDX-License-Identifier: Apache-2.0
//
// One emulated call of a shipped kernel, and everything that may be wrong with it: what the machine finds, guard bands,
// words that were not written, wrong results. Plain, without a test framework: the seeded faults go through it too.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "host/dispatch.h"
#include "machine/machine.h"
#include "support/inputs.h"
#include "support/oracle.h"

namespace vdn_delta::test {

// A batch, how it lies in memory, and how it is launched.
struct Workload {
  std::string name;
  support::Batch batch;
  int clusters = 1;
  // Words past a 64-byte boundary: bulk copies want multiples of four.
  int offset_A = 0, offset_B = 0, offset_T = 0, offset_J = 0;
  bool with_info = true, programmatic = false;
  float a_scale = 1.0f, b_scale = 1.0f;
  // What must come out; set by expect_values().
  std::vector<std::int32_t> info;
  support::Reference reference;
  support::Errors bar;
};

// Sets what must come out: the reference, the errors allowed (those of the four-call chain on the same input with the
// scales multiplied into it), and `info`, 0 but for the matrices that get bad pivots: (matrix, order). Also
// fills A's upper triangles with NaN, since they must reach nothing.
void expect_values(Workload* workload, const std::vector<std::pair<std::int64_t, int>>& broken = {});

// More matrices for one cluster than any ring of buffers is long, in both ways in and out, and the small shapes.
std::vector<Workload> workloads();

// What a trial found; `kind` is empty if nothing is wrong. Besides the names of the machine's faults: "result",
// "unwritten-output", "overrun", "refused".
struct Finding {
  std::string kind, text;
};

struct Output {
  std::vector<float> T, J;
  std::vector<std::int32_t> info;
};

// The variants that this build holds.
std::vector<const host::Row*> held_rows();

// CTAs of the variant's clusters, warps of each, by what its kernel says.
struct Shape {
  int ctas = 1, warps = 1;
};
Shape shape_of(const host::Row& row);

// With settings.schedule and .rcp_error as given; the regions are the call's. `output` may be null.
Finding run_trial(const host::Row& row, const Workload& workload, const emulator::Schedule& schedule, int rcp_error = 0,
                  Output* output = nullptr);

}  // namespace vdn_delta::test
