// SPDX-License-Identifier: Apache-2.0
//
// Everything the bench asks of a GPU, without a CUDA header: gpu.cpp answers with the CUDA runtime, gpu_absent.cpp in a
// build without CUDA.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "contender.h"
#include "rows.h"
#include "vdn_delta/vdn_delta.h"

namespace vdn_delta::bench {

struct GpuInfo {
  bool present = false;
  std::string why_not;  // when not present
  std::string name, driver, cuda;
  int capability_major = 0, capability_minor = 0;
  int multiprocessors = 0;
  int clusters = 0;  // of variant pair, resident at once; 0: it cannot run
};

GpuInfo gpu_info();

// Runs for about a second.
Ceilings measure_ceilings();

class GpuContender : public Contender {
 public:
  // Times calls on n matrices in one of the modes graph, graph-cold and stream. A contender that cannot be captured in
  // a graph is timed as a stream; the row says so.
  virtual TimingRow time(const support::Batch& batch, const std::string& mode, int samples) = 0;
};

// "pair", "single" or "compact": what VDN_VARIANT_AUTO takes for n matrices.
std::string auto_variant(std::int64_t n);

// Null, and the reason, when the library cannot serve this variant here.
std::unique_ptr<GpuContender> make_gpu_variant(vdn_variant_t variant, std::string* why_not);

// Null when this build has no cuBLAS and cuSOLVER.
std::unique_ptr<GpuContender> make_gpu_chain();

}  // namespace vdn_delta::bench
