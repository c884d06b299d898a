// SPDX-License-Identifier: Apache-2.0
//
// The host side of the one-file header: one call checks its arguments, prepares the device if need be, chooses a kernel
// room, and enqueues one kernel. It does what src/api and src/host do for the library, without state that another
// translation unit could see.
//
// A line that ends in "// room NAME" is left out of the header where src/NAME does not exist.
#pragma once

#include "compact/kernel.cu"  // room compact
#include "dropin/system.h"
#include "host/auto_rule.h"
#include "host/runtime.h"
#include "pair/kernel.cu"  // room pair
#include "params.h"
#include "shape.h"
#include "single/kernel.cu"  // room single

namespace vdn_delta::dropin {

// Which kernel is asked for. They differ in time alone: the bits are the same.
enum class Variant : int {
  kSingle = host::kAutoSingle,    // one CTA for each matrix: the shorter time for many matrices; sm_90a, sm_100f alone
  kCompact = host::kAutoCompact,  // one CTA for each, with less shared memory: for every GPU from capability 8.0 on
  kPair = host::kAutoPair,        // a cluster of two CTAs for each: the shorter time for few
  kAuto = host::kAutoVariants,    // whichever is fastest for n by the table of auto_rule.h
};

// The arguments of one call; arrays in device memory, row-major, dense, 4-byte aligned.
struct Args {
  float* transition = nullptr;       // [n, 128, 128]: diag(alpha) (I + a_scale A)^-1
  float* injection = nullptr;        // [n, 128, 128]: b_scale B (I + a_scale A)^-1
  const float* A = nullptr;          // [n, 128, 128], of which the lower triangle is read; may be B
  const float* B = nullptr;          // [n, 128, 128]
  const float* alpha = nullptr;      // [n, 128]
  std::int64_t n = 0;                // 0 .. 2^30
  std::int32_t* info = nullptr;      // [n] or null: 0, or the order of the first bad pivot
  float a_scale = 1.0f;              // finite, > 0
  float b_scale = 1.0f;              // finite, > 0
  bool programmatic_launch = false;  // launch with programmatic stream serialization (sm_90 and newer)
};

// What is wrong with the arguments, or null.
inline const char* find_fault(const Args& args) {
  struct Range {
    std::uintptr_t begin, end;
  };
  constexpr std::int64_t kMaxN = std::int64_t{1} << 30;
  if (args.n < 0 || args.n > kMaxN) return "n must be in 0 .. 2^30";
  if (!(args.a_scale > 0.0f && args.a_scale <= FLT_MAX)) return "a_scale must be finite and > 0";
  if (!(args.b_scale > 0.0f && args.b_scale <= FLT_MAX)) return "b_scale must be finite and > 0";
  if (args.n == 0) return nullptr;
  const auto range = [&](const void* p, std::int64_t words) {
    const auto begin = reinterpret_cast<std::uintptr_t>(p);
    return Range{begin, begin + static_cast<std::uintptr_t>(words * args.n * 4)};
  };
  const Range arrays[] = {range(args.transition, kElements), range(args.injection, kElements), range(args.info, 1),
                          range(args.A, kElements),          range(args.B, kElements),         range(args.alpha, kDim)};
  constexpr int kOutputs = 3, kInfo = 2, kArrays = 6;
  for (int i = 0; i < kArrays; ++i) {
    if (i != kInfo && arrays[i].begin == 0) return "an array is null";
    if (arrays[i].begin % 4 != 0) return "an array is not 4-byte aligned";
  }
  for (int i = 0; i < kOutputs; ++i) {
    if (arrays[i].begin == 0) continue;
    for (int j = i + 1; j < kArrays; ++j) {
      if (arrays[j].begin == 0) continue;
      if (arrays[i].begin < arrays[j].end && arrays[j].begin < arrays[i].end)
        return "transition and injection must overlap neither an input nor each other";
    }
  }
  return nullptr;
}

// What a room says of itself on one device.
struct RoomFacts {
  int threads = 0, shared_bytes = 0;  // of a CTA
  int units = 0;                      // resident CTAs, or clusters, on the device; 0: it cannot run there
};

// A kernel room as it is seen from here: its doors, with their types made equal.
struct Room {
  Variant variant;
  int from;  // the first machine that its code is for: 10 * major + minor
  cudaError_t (*prepare)(RoomFacts* facts, int multiprocessors);
  cudaError_t (*launch)(const Params& params, int units, bool programmatic, cudaStream_t stream);
  void (*kernel)(Params params);
};

template <class Facts>
Facts facts_of(cudaError_t (*)(Facts*));
template <class Launch>
Launch launch_of(cudaError_t (*)(const Params&, const Launch&, cudaStream_t));

// Clusters where the room counts them, CTAs where not.
template <class Facts>
auto resident(const Facts& facts, int) -> decltype(facts.clusters) {
  return facts.ctas_per_sm > 0 ? facts.clusters : 0;
}
template <class Facts>
int resident(const Facts& facts, long multiprocessors) {
  return facts.ctas_per_sm * static_cast<int>(multiprocessors);
}

template <auto prepare>
cudaError_t prepare_room(RoomFacts* facts, int multiprocessors) {
  decltype(facts_of(prepare)) kernel{};
  const cudaError_t error = prepare(&kernel);
  facts->threads = kernel.threads;
  facts->shared_bytes = kernel.shared_bytes;
  facts->units = error == cudaSuccess ? resident(kernel, multiprocessors) : 0;
  return error;
}
template <auto launch>
cudaError_t launch_room(const Params& params, int units, bool programmatic, cudaStream_t stream) {
  return launch(params, decltype(launch_of(launch)){units, programmatic}, stream);
}
template <auto prepare, auto launch>
constexpr Room make_room(Variant variant, int from, void (*kernel)(Params)) {
  return {variant, from, prepare_room<prepare>, launch_room<launch>, kernel};
}

// What cannot run leaves its work to the next one. The last one asks least of a machine: 99 KB of shared memory, no
// cluster, no copy engine.
// clang-format off
constexpr Room kRooms[] = {
    make_room<pair::prepare, pair::launch>(Variant::kPair, 90, pair::vdn_delta_factors_128_f32_pair),  // room pair
    make_room<single::prepare, single::launch>(Variant::kSingle, 90, single::vdn_delta_factors_128_f32_single),  // room single
    make_room<compact::prepare, compact::launch>(Variant::kCompact, 80, compact::vdn_delta_factors_128_f32_compact),  // room compact
};
// clang-format on
constexpr int kRoomCount = sizeof kRooms / sizeof kRooms[0];

// What is known of a device: written once under the mutex, published by `ready`, read without a lock.
struct Device {
  std::mutex mutex;
  std::atomic<bool> ready{false};
  int capability = 0, multiprocessors = 0;
  int units[kRoomCount] = {};  // of each room; 0: it cannot run there
};
constexpr int kMaxDevices = 64;
inline Device& device_slot(int ordinal) {
  static Device devices[kMaxDevices];
  return devices[ordinal];
}

// Whether and how many of the room's units the current device can hold. The machine's own number is not enough: a
// program may have been built for an older one, and then the code that its driver takes is the stub; or without the
// features that single needs, and then single says so itself.
inline cudaError_t ask_room(const Room& room, const Device& device, int shared_bytes_limit, int* units) {
  *units = 0;
  if (device.capability < room.from) return cudaSuccess;
  cudaFuncAttributes attributes{};
  cudaError_t error = cudaFuncGetAttributes(&attributes, room.kernel);
  if (error == cudaSuccess && attributes.ptxVersion < room.from) return cudaSuccess;
  RoomFacts facts;
  if (error == cudaSuccess) error = room.prepare(&facts, device.multiprocessors);
  if (error == cudaSuccess) *units = facts.units;
  if (error == cudaSuccess) return error;
  (void)cudaGetLastError();
  return host::means_unsupported(error, facts.shared_bytes, shared_bytes_limit) ? cudaSuccess : error;
}

// Loads the kernels on the current device, sets their attributes and asks for their occupancy; at once if that has been
// done. From any number of threads. Without it the first launch on a device does the same. An error that the caller has
// left pending on this thread is lost by it.
inline cudaError_t prepare(const Device** prepared = nullptr) {
  int ordinal = -1;
  cudaError_t error = cudaGetDevice(&ordinal);
  if (error != cudaSuccess) return error;
  if (ordinal < 0 || ordinal >= kMaxDevices) return cudaErrorInvalidDevice;
  Device& device = device_slot(ordinal);
  if (prepared != nullptr) *prepared = &device;
  if (device.ready.load(std::memory_order_acquire)) return cudaSuccess;
  const std::lock_guard<std::mutex> lock(device.mutex);
  if (device.ready.load(std::memory_order_relaxed)) return cudaSuccess;
  const host::RelaxedCapture relaxed;
  int major = 0, minor = 0, shared_bytes_limit = 0;
  const struct {
    cudaDeviceAttr attribute;
    int* value;
  } wanted[] = {
      {cudaDevAttrComputeCapabilityMajor, &major},
      {cudaDevAttrComputeCapabilityMinor, &minor},
      {cudaDevAttrMultiProcessorCount, &device.multiprocessors},
      {cudaDevAttrMaxSharedMemoryPerBlockOptin, &shared_bytes_limit},
  };
  for (const auto& item : wanted) {
    error = cudaDeviceGetAttribute(item.value, item.attribute, ordinal);
    if (error != cudaSuccess) return error;
  }
  device.capability = 10 * major + minor;
  bool any = false;
  for (int r = 0; r < kRoomCount; ++r) {
    error = ask_room(kRooms[r], device, shared_bytes_limit, &device.units[r]);
    if (error != cudaSuccess) return error;
    any = any || device.units[r] > 0;
  }
  if (!any) return cudaErrorNoKernelImageForDevice;
  device.ready.store(true, std::memory_order_release);
  return cudaSuccess;
}

// The room for n matrices on a prepared device, on which at least one can run. Where the one that is asked for cannot,
// the first does that can, with single before the others.
inline int choose_room(const Device& device, Variant variant, std::int64_t n) {
  host::Units units;
  int room_of[host::kAutoVariants] = {};
  for (int r = 0; r < kRoomCount; ++r) {
    if (device.units[r] == 0) continue;
    units.of[static_cast<int>(kRooms[r].variant)] = device.units[r];
    room_of[static_cast<int>(kRooms[r].variant)] = r;
  }
  int v = static_cast<int>(variant);
  if (variant == Variant::kAuto)
    v = host::fastest(host::auto_rule(device.capability, device.multiprocessors), n, units);
  if (units.of[v] == 0) {
    v = 0;
    while (units.of[v] == 0) ++v;
  }
  return room_of[v];
}

// Enqueues one kernel on `stream`, of the current device, and returns: no allocation, no synchronization, and after the
// first call on a device nothing but the launch. n = 0 launches nothing. Can be captured into a graph.
template <Variant variant = Variant::kAuto>
cudaError_t launch(const Args& args, cudaStream_t stream) {
  if (find_fault(args) != nullptr) return cudaErrorInvalidValue;
  if (args.n == 0) return cudaSuccess;
  const Device* device = nullptr;
  cudaError_t error = prepare(&device);
  if (error == cudaSuccess) {
    const Params params{args.A,    args.B, args.alpha,   args.transition, args.injection,
                        args.info, args.n, args.a_scale, args.b_scale};
    const int r = choose_room(*device, variant, args.n);
    const int units = args.n < device->units[r] ? static_cast<int>(args.n) : device->units[r];
    error = kRooms[r].launch(params, units, args.programmatic_launch && device->capability >= 90, stream);
  }
  if (error != cudaSuccess) (void)cudaGetLastError();  // it is answered here; nobody is to find it later
  return error;
}

}  // namespace vdn_delta::dropin
