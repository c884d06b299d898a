// SPDX-License-Identifier: Apache-2.0
//
// The host's door to the pair kernel: what it needs, what it reports, how it is launched.
#pragma once

#include <cuda_runtime_api.h>

#include "../params.h"

namespace vdn_delta::pair {

struct KernelFacts {
  int threads;       // threads per CTA
  int shared_bytes;  // dynamic shared memory per CTA
  int registers;     // per thread
  int ctas_per_sm;   // resident CTAs per multiprocessor (occupancy query); 0: cannot run here
  int clusters;      // resident clusters on the device
};

// Loads the kernel on the current device, raises its shared-memory limit and asks for its occupancy.
cudaError_t prepare(KernelFacts* facts);

struct Launch {
  int clusters;              // >= 1; matrix m is done by cluster m % clusters
  int swap_from;             // from this cluster on, rank 1 leads
  bool programmatic_launch;  // launch with programmatic stream serialization
};

cudaError_t launch(const Params& params, const Launch& how, cudaStream_t stream);
#ifdef VDN_TRACE
void trace_read(long long* out);
#endif

}  // namespace vdn_delta::pair
