// SPDX-License-Identifier: Apache-2.0
//
// Contenders that run on the CPU, and their timing.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "contender.h"
#include "progress.h"
#include "rows.h"

namespace vdn_delta::bench {

std::string cpu_model();
int cpu_threads(int asked);  // 0: all hardware threads

std::unique_ptr<Contender> make_cpu_path(int threads);
std::unique_ptr<Contender> make_lapack_chain(int threads);  // null when this build has no LAPACK

// One row per contender. Wall clock per call; samples of the contenders alternate, so that a machine that slows down
// for a while slows all of them down. samples 0: up to 15, at least 5, about four seconds per contender.
std::vector<TimingRow> time_cpu(std::int64_t n, const std::vector<std::unique_ptr<Contender>>& contenders, int samples,
                                int threads, Progress* progress);

}  // namespace vdn_delta::bench
