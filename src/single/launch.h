// SPDX-License-Identifier: Apache-2.0
//
// The host's door to the single-CTA kernel: what it needs, what it reports, how it is launched.
// No decision is made behind this door; src/host decides.
#pragma once

#include <cuda_runtime_api.h>

#include "../params.h"

namespace vdn_delta::single {

struct KernelFacts {
  int threads;       // threads per CTA
  int shared_bytes;  // dynamic shared memory per CTA
  int registers;     // per thread
  int ctas_per_sm;   // resident CTAs per multiprocessor (occupancy query); 0: cannot run here
};

// Loads the kernel on the current device, raises its shared-memory limit and asks for its occupancy.
// Idempotent; legal outside a stream capture only.
cudaError_t prepare(KernelFacts* facts);

struct Launch {
  int grid;                  // CTAs, >= 1; matrix m is done by CTA m % grid, a shared one also by m % grid + n % grid
  bool programmatic_launch;  // launch with programmatic stream serialization
};

// Enqueues one kernel. Reads no device property and makes no other runtime call.
cudaError_t launch(const Params& params, const Launch& how, cudaStream_t stream);

}  // namespace vdn_delta::single
