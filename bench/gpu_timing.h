// SPDX-License-Identifier: Apache-2.0
//
// The GPU modes: graph, graph-cold and stream.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>
#include <string>

#include "gpu_memory.h"
#include "rows.h"

namespace vdn_delta::bench {

// Enqueues one call on the given buffers; throws when it is refused.
using Enqueue = std::function<void(const DeviceBatch&, cudaStream_t)>;

// Calls per graph and per sample of mode stream: the mode of every bar is "a graph of 20 launches".
constexpr int kCallsPerGraph = 20;

// True when `enqueue` survives stream capture. The call must be prepared; a failed attempt leaves no error behind.
bool can_be_captured(const DeviceBatch& buffers, const Enqueue& enqueue);

TimingRow time_on_gpu(const std::string& name, const support::Batch& batch, const std::string& mode, int samples,
                      const Enqueue& enqueue);

}  // namespace vdn_delta::bench
