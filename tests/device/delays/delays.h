// SPDX-License-Identifier: Apache-2.0
//
// The kernels once more, with delays where CTAs and warps meet: what the test asks for, and how it reaches them. Each
// room's delayed copy (room.cu.in) enters itself into the list.
#pragma once

#include <cuda_runtime_api.h>

namespace vdn_delays {

enum Place : int {
  kNowhere,
  kEntry,  // before anything else
  kMeet,   // before the CTA arrives at its cluster, at the beginning and at the end
  kLeave,  // behind the cluster's barrier, at the beginning and at the end
};

// One rank of a cluster (for a kernel without clusters: every second CTA) is held up at a place for so long; and each
// warp now and then, before it arrives at a barrier and after it has waited for one, for up to `jitter` nanoseconds.
struct Delays {
  int place;
  int rank;
  unsigned nanoseconds;
  unsigned jitter;  // 0: none
  unsigned seed;
};

struct Room {
  const char* name;
  // Prepares the copy and sets its delays; not in a capture.
  cudaError_t (*set)(const Delays& delays, cudaStream_t stream);
  // `params` is the library's own Params.
  cudaError_t (*launch)(const void* params, int units, cudaStream_t stream);
  const Room* next;
};

// The list; entering happens before main().
const Room* rooms();
struct Entered {
  explicit Entered(Room* room);
};

}  // namespace vdn_delays
