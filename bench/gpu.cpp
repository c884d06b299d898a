// SPDX-License-Identifier: Apache-2.0
#include "gpu.h"

#include <dlfcn.h>

#include "gpu_memory.h"
#include "gpu_timing.h"

namespace vdn_delta::bench {
namespace {

std::string cuda_version(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

// The driver's own version (such as 580.95.05) is only told by NVML, which comes with the driver.
std::string driver_version() {
  void* nvml = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (nvml == nullptr) return "";
  const auto init = reinterpret_cast<int (*)()>(dlsym(nvml, "nvmlInit_v2"));
  const auto version = reinterpret_cast<int (*)(char*, unsigned)>(dlsym(nvml, "nvmlSystemGetDriverVersion"));
  const auto shutdown = reinterpret_cast<int (*)()>(dlsym(nvml, "nvmlShutdown"));
  char text[96] = "";
  if (init != nullptr && version != nullptr && shutdown != nullptr && init() == 0) {
    if (version(text, sizeof text) != 0) text[0] = '\0';
    shutdown();
  }
  dlclose(nvml);
  return text;
}

// False, and a message of the library, if it would not launch.
bool plan_of(vdn_variant_t variant, std::int64_t n, vdn_delta_plan_t* plan, vdn_status_t* status) {
  vdn_delta_options_t options = VDN_DELTA_OPTIONS_INIT;
  options.variant = variant;
  *plan = VDN_DELTA_PLAN_INIT;
  *status = vdn_delta_plan(n, &options, 0, plan);
  return *status == VDN_STATUS_SUCCESS;
}

const char* name_of(vdn_variant_t variant) {
  switch (variant) {
    case VDN_VARIANT_PAIR: return "pair";
    case VDN_VARIANT_SINGLE: return "single";
    case VDN_VARIANT_COMPACT: return "compact";
    default: return "auto";
  }
}

class GpuVariant : public GpuContender {
 public:
  explicit GpuVariant(vdn_variant_t variant) { options_.variant = variant; }

  std::string name() const override { return name_of(options_.variant); }
  std::string name_for(std::int64_t n) const override {
    return options_.variant == VDN_VARIANT_AUTO ? auto_variant(n) : name();
  }

  void solve(const support::Batch& batch, float* T, float* J) override {
    const DeviceBatch buffers(batch);
    enqueue(buffers, nullptr);
    check(cudaDeviceSynchronize(), name().c_str());
    buffers.T.download(T);
    buffers.J.download(J);
  }

  TimingRow time(const support::Batch& batch, const std::string& mode, int samples) override {
    return time_on_gpu(name_for(batch.n), batch, mode, samples,
                       [this](const DeviceBatch& buffers, cudaStream_t stream) { enqueue(buffers, stream); });
  }

 private:
  void enqueue(const DeviceBatch& b, cudaStream_t stream) {
    check_library(vdn_delta_factors(b.n, b.A.get(), b.B.get(), b.alpha.get(), b.T.get(), b.J.get(), &options_, stream),
                  "vdn_delta_factors");
  }

  vdn_delta_options_t options_ = VDN_DELTA_OPTIONS_INIT;
};

}  // namespace

GpuInfo gpu_info() {
  GpuInfo info;
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess || count == 0) {
    cudaGetLastError();
    int driver = 0;
    const bool no_driver = cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0;
    info.why_not = no_driver ? "no driver" : error != cudaSuccess ? cudaGetErrorString(error) : "no CUDA device";
    return info;
  }
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, 0), "cudaGetDeviceProperties");
  check(cudaSetDevice(0), "cudaSetDevice");
  int runtime = 0;
  check(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
  info.name = properties.name;
  info.capability_major = properties.major;
  info.capability_minor = properties.minor;
  info.multiprocessors = properties.multiProcessorCount;
  info.cuda = cuda_version(runtime);
  info.driver = driver_version();

  const vdn_status_t status = vdn_delta_prepare(0);
  if (status != VDN_STATUS_SUCCESS) {
    info.why_not = info.name + ": " + vdn_status_string(status) + ": " + vdn_last_error_message();
    return info;
  }
  info.present = true;
  vdn_delta_plan_t plan;
  vdn_status_t ignored;
  if (plan_of(VDN_VARIANT_PAIR, VDN_DELTA_MAX_N, &plan, &ignored)) info.clusters = plan.grid / plan.cluster;
  return info;
}

std::unique_ptr<GpuContender> make_gpu_variant(vdn_variant_t variant, std::string* why_not) {
  vdn_delta_plan_t plan;
  vdn_status_t status;
  if (!plan_of(variant, 1, &plan, &status)) {
    *why_not = std::string(vdn_status_string(status)) + ": " + vdn_last_error_message();
    return nullptr;
  }
  return std::make_unique<GpuVariant>(variant);
}

std::string auto_variant(std::int64_t n) {
  vdn_delta_plan_t plan;
  vdn_status_t status;
  plan_of(VDN_VARIANT_AUTO, n, &plan, &status);
  check_library(status, "vdn_delta_plan");
  return name_of(plan.variant);
}

#ifndef VDN_BENCH_CUBLAS
std::unique_ptr<GpuContender> make_gpu_chain() { return nullptr; }
#endif

}  // namespace vdn_delta::bench
