// SPDX-License-Identifier: Apache-2.0
//
// The accuracy part: errors against fp64 on the model's input statistics, judged by the bars of docs/numerics.md.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "contender.h"
#include "rows.h"

namespace vdn_delta::bench {

// The bars are those of tests/support/bars.h. The chain that some of them follow is the library calls that are in use
// today (baseline:chain) where they run, and a textbook version of them in plain fp32 elsewhere: blocked factorizations
// lose more on the shifted family than textbook ones (docs/numerics.md).
enum class Bar {
  kFixed,   // the same for every input
  kChain,   // relative to the four-call chain
  kFinite,  // so badly conditioned that only finite output is asked for
};

struct AccuracyCase {
  support::InputSpec spec;
  Bar bar;
};

// The cases of the named families (all when empty), n matrices each.
std::vector<AccuracyCase> accuracy_cases(const std::vector<std::string>& families, std::int64_t n, std::uint64_t seed);

// Runs every contender on the case. Baselines are measured but not judged.
std::vector<ErrorRow> run_accuracy(const AccuracyCase& one, const std::vector<Contender*>& contenders, int threads);

}  // namespace vdn_delta::bench
