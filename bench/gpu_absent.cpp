// SPDX-License-Identifier: Apache-2.0
//
// What stands behind gpu.h and timeline.h in a build without CUDA: no GPU.
#include <stdexcept>

#include "gpu.h"
#include "timeline.h"

namespace vdn_delta::bench {

GpuInfo gpu_info() {
  GpuInfo info;
  info.why_not = "built without CUDA";
  return info;
}

Ceilings measure_ceilings() { return {}; }

std::string auto_variant(std::int64_t) { return ""; }

std::unique_ptr<GpuContender> make_gpu_variant(vdn_variant_t, std::string* why_not) {
  *why_not = "built without CUDA";
  return nullptr;
}

std::unique_ptr<GpuContender> make_gpu_chain() { return nullptr; }

Timeline measure_timeline(const std::string&) { throw std::runtime_error("built without CUDA"); }

}  // namespace vdn_delta::bench
