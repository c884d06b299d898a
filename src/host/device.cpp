// SPDX-License-Identifier: Apache-2.0
//
// The one room that talks to the CUDA runtime. What is learned about a device is kept in a slot per device: written
// once under its mutex, published by a release store, read without a lock. So a prepared call costs cudaGetDevice, one
// load and the launch. A failed try leaves the slot as it was.
#include "device.h"

#include <cuda_runtime_api.h>

#include <atomic>
#include <cstdio>
#include <mutex>
#include <system_error>
#include <thread>
#include <type_traits>

#include "error.h"
#include "runtime.h"

namespace vdn_delta::host {
namespace {

struct Slot {
  std::mutex mutex;                // held while preparing
  std::atomic<bool> ready{false};  // `facts` is complete and will not change
  DeviceFacts facts;
};

// No destructor may run at exit, when the driver is already gone and other threads may still be calling.
static_assert(std::is_trivially_destructible_v<Slot>);

constexpr int kMaxDevices = 64;  // more than any host has; ordinals beyond are refused
Slot slots[kMaxDevices];

// Whether there is no driver at all. The runtime's word for that is a driver that is too old.
bool lacks_driver() noexcept {
  int version = 0;
  if (cudaDriverGetVersion(&version) == cudaSuccess) return version == 0;
  (void)cudaGetLastError();
  return false;
}

// Turns a runtime error into a status and a message, and clears it, so that the caller's next check does not find it.
vdn_status_t translate(cudaError_t error, const char* what) noexcept {
  (void)cudaGetLastError();
  if (error == cudaErrorInsufficientDriver && lacks_driver()) {
    return fail(VDN_STATUS_NO_DEVICE, "%s: there is no NVIDIA driver (%s)", what, cudaGetErrorName(error));
  }
  vdn_status_t status = VDN_STATUS_CUDA_ERROR;
  const char* hint = "";
  switch (error) {
    case cudaErrorNoDevice:
    case cudaErrorInsufficientDriver:
    case cudaErrorStubLibrary:
    case cudaErrorSystemDriverMismatch:
    case cudaErrorCompatNotSupportedOnDevice: status = VDN_STATUS_NO_DEVICE; break;
    case cudaErrorInvalidDevice: status = VDN_STATUS_INVALID_ARGUMENT; break;
    case cudaErrorInvalidResourceHandle:
      status = VDN_STATUS_INVALID_ARGUMENT;
      hint = "; is stream one of the current device?";
      break;
    case cudaErrorMemoryAllocation: status = VDN_STATUS_OUT_OF_MEMORY; break;
    default: break;
  }
  return fail(status, "%s: %s (%s)%s", what, cudaGetErrorString(error), cudaGetErrorName(error), hint);
}

// Single attributes, not cudaDeviceProp: its fields come and go between toolkits.
vdn_status_t read_attributes(int device, DeviceFacts* facts) noexcept {
  const struct {
    cudaDeviceAttr attribute;
    int* value;
  } wanted[] = {
      {cudaDevAttrComputeCapabilityMajor, &facts->capability_major},
      {cudaDevAttrComputeCapabilityMinor, &facts->capability_minor},
      {cudaDevAttrMultiProcessorCount, &facts->multiprocessors},
      {cudaDevAttrMaxSharedMemoryPerBlockOptin, &facts->shared_bytes_limit},
  };
  facts->device = device;
  for (const auto& item : wanted) {
    const cudaError_t error = cudaDeviceGetAttribute(item.value, item.attribute, device);
    if (error != cudaSuccess) return translate(error, "cudaDeviceGetAttribute");
  }
  return VDN_STATUS_SUCCESS;
}

// Asks every variant that this build holds and this device may run. `device` is current.
vdn_status_t ask_variants(DeviceFacts* facts) noexcept {
  for (int r = 0; r < kRows; ++r) {
    const Row& row = kDispatch[r];
    VariantFacts& kernel = facts->variants[r];
    if (!may_run(row, *facts)) continue;
    const auto error = static_cast<cudaError_t>(row.prepare(&kernel));
    if (error == cudaSuccess) continue;
    // A runtime that will not count clusters must not keep the other variants from running. If the device itself is in
    // error, they will say so.
    const bool only_clusters = row.cluster > 1 && kernel.ctas_per_sm > 0;
    kernel.clusters = 0;
    if (!only_clusters) kernel.ctas_per_sm = 0;
    const bool unsupported = means_unsupported(error, kernel.shared_bytes, facts->shared_bytes_limit);
    if (!only_clusters && !unsupported) return translate(error, "loading the kernels");
    (void)cudaGetLastError();
  }
  const Plan plan = make_plan(*facts, 1, VDN_VARIANT_AUTO);
  if (plan.status != VDN_STATUS_SUCCESS) return fail(plan.status, "%s", plan.why);
  return VDN_STATUS_SUCCESS;
}

vdn_status_t prepare_current(int device, DeviceFacts* facts) noexcept {
  Slot& slot = slots[device];
  const std::lock_guard<std::mutex> lock(slot.mutex);
  const RelaxedCapture relaxed;
  DeviceFacts fresh;
  vdn_status_t status = read_attributes(device, &fresh);
  if (status == VDN_STATUS_SUCCESS) status = ask_variants(&fresh);
  if (status != VDN_STATUS_SUCCESS) return status;
  if (!slot.ready.load(std::memory_order_relaxed)) {
    slot.facts = fresh;
    slot.ready.store(true, std::memory_order_release);
  }
  if (facts != nullptr) *facts = fresh;
  return VDN_STATUS_SUCCESS;
}

// On a thread of its own, as setting the caller's device back would create a context on a device it may never use.
vdn_status_t prepare_other(int device, DeviceFacts* facts) noexcept {
  vdn_status_t status = VDN_STATUS_SUCCESS;
  char message[512] = "";
  const auto work = [&] {
    const cudaError_t error = cudaSetDevice(device);
    status = error == cudaSuccess ? prepare_current(device, facts) : translate(error, "cudaSetDevice");
    std::snprintf(message, sizeof message, "%s", last_message());
  };
  try {
    std::thread(work).join();
  } catch (const std::system_error&) {
    return fail(VDN_STATUS_OUT_OF_MEMORY, "no thread could be had to prepare device %d", device);
  }
  return status == VDN_STATUS_SUCCESS ? status : fail(status, "%s", message);
}

// In place, if the caller has no error pending: the functions that prepare lose it, or answer with it. Each thread has
// its own last error.
vdn_status_t prepare_quietly(int device, DeviceFacts* facts) noexcept {
  return cudaPeekAtLastError() == cudaSuccess ? prepare_current(device, facts) : prepare_other(device, facts);
}

bool has_slot(int device) noexcept { return device >= 0 && device < kMaxDevices; }

// The current device as an ordinal that has a slot.
vdn_status_t current_device(int* device) noexcept {
  const cudaError_t error = cudaGetDevice(device);
  if (error != cudaSuccess) return translate(error, "cudaGetDevice");
  if (!has_slot(*device)) {
    return fail(VDN_STATUS_UNSUPPORTED, "device %d: this library serves ordinals below %d", *device, kMaxDevices);
  }
  return VDN_STATUS_SUCCESS;
}

// Whether preparing now would happen inside the capture of `stream`. The legacy stream cannot be asked, nor used, while
// a blocking stream is captured: the runtime answers with an error that leaves that capture valid.
vdn_status_t refuse_in_capture(void* stream, int device) noexcept {
  const RelaxedCapture relaxed;
  cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
  const cudaError_t error = cudaStreamIsCapturing(static_cast<cudaStream_t>(stream), &capture);
  if (error == cudaErrorStreamCaptureImplicit) {
    (void)cudaGetLastError();
    capture = cudaStreamCaptureStatusActive;
  } else if (error != cudaSuccess) {
    return translate(error, "cudaStreamIsCapturing");
  }
  if (capture == cudaStreamCaptureStatusNone) return VDN_STATUS_SUCCESS;
  return fail(VDN_STATUS_NOT_PREPARED,
              "first call on device %d inside a stream capture: call vdn_delta_prepare before capturing", device);
}

}  // namespace

vdn_status_t prepare(int device, DeviceFacts* facts) noexcept {
  int current = -1;
  const vdn_status_t status = current_device(&current);
  if (status != VDN_STATUS_SUCCESS) return status;
  if (device == -1 || device == current) return prepare_quietly(current, facts);
  if (!has_slot(device)) return fail(VDN_STATUS_INVALID_ARGUMENT, "device %d does not exist", device);
  return prepare_other(device, facts);
}

vdn_status_t device_facts(int device, DeviceFacts* facts) noexcept {
  int ordinal = device;
  if (ordinal == -1) {
    const vdn_status_t status = current_device(&ordinal);
    if (status != VDN_STATUS_SUCCESS) return status;
  }
  if (has_slot(ordinal) && slots[ordinal].ready.load(std::memory_order_acquire)) {
    *facts = slots[ordinal].facts;
    return VDN_STATUS_SUCCESS;
  }
  return prepare(ordinal, facts);
}

vdn_status_t enqueue(const Params& params, vdn_variant_t variant, bool programmatic_launch, void* stream) noexcept {
  int device = -1;
  vdn_status_t status = current_device(&device);
  if (status != VDN_STATUS_SUCCESS) return status;
  const Slot& slot = slots[device];
  if (!slot.ready.load(std::memory_order_acquire)) {
    status = refuse_in_capture(stream, device);
    if (status == VDN_STATUS_SUCCESS) status = prepare_quietly(device, nullptr);
    if (status != VDN_STATUS_SUCCESS) return status;
  }
  const Plan plan = make_plan(slot.facts, params.n, variant);
  if (plan.status != VDN_STATUS_SUCCESS) return fail(plan.status, "%s", plan.why);
  // Before 9.0 no grid can start early, and the runtime may refuse to be asked.
  const LaunchShape shape{plan.grid, programmatic_launch && capability_of(slot.facts) >= 90};
  const auto error = static_cast<cudaError_t>(plan.row->launch(params, shape, stream));
  if (error != cudaSuccess) return translate(error, "launching the kernel");
  return VDN_STATUS_SUCCESS;
}

}  // namespace vdn_delta::host
