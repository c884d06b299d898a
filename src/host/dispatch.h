// SPDX-License-Identifier: Apache-2.0
//
// The table of GPU variants: what each one is called, where it runs, and how it is reached. A new variant is a new row.
// Plain C++: rows reach their kernels through plain functions, which have the CUDA headers to themselves.
#pragma once

#include <vdn_delta/vdn_delta.h>

#include "../params.h"

namespace vdn_delta::host {

// What a kernel reports about itself on one device.
struct VariantFacts {
  int threads = 0;       // per CTA
  int shared_bytes = 0;  // dynamic shared memory per CTA
  int ctas_per_sm = 0;   // resident CTAs per multiprocessor; 0: cannot run on this device
  int clusters = 0;      // resident clusters on the device, of a row of clusters; 0: none, or none could be counted
};

// How one launch is made.
struct LaunchShape {
  int grid = 0;  // CTAs
  bool programmatic_launch = false;
};

// Both return a cudaError_t. A preparation that fails leaves in `facts` what was found out before that; clusters are
// counted last, so that ctas_per_sm > 0 beside an error says that this is what failed.
using PrepareFunction = int (*)(VariantFacts* facts);
using LaunchFunction = int (*)(const Params& params, const LaunchShape& shape, void* stream);

struct Row {
  const char* name;  // in bench --variant, tests and records
  vdn_variant_t variant;
  int min_capability;       // 10 * major + minor
  int cluster;              // CTAs that share a matrix
  PrepareFunction prepare;  // null: this build does not hold the variant
  LaunchFunction launch;
};

// Whether this build has the variant's kernel.
constexpr bool is_held(const Row& row) { return row.prepare != nullptr; }

inline constexpr int kRows = 3;

// VDN_VARIANT_AUTO takes the row that auto_rule.h says for n, of those that the device can run. The last row asks least
// of a device: it is the one to explain where nothing can run.
extern const Row kDispatch[kRows];

}  // namespace vdn_delta::host
