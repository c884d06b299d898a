// SPDX-License-Identifier: Apache-2.0
//
// src/host/device.cpp against a made-up CUDA runtime: what is asked of it and when, what is remembered, what every
// error becomes, and that nothing is left behind. The devices' slots live as long as the process, so each test takes an
// ordinal of its own.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "fake_runtime.h"
#include "host/device.h"
#include "host/error.h"

namespace {

using namespace vdn_delta;

Params some_params(std::int64_t n) {
  Params params{};
  params.n = n;
  return params;
}

// A runtime for one test, on a device that no other test has used.
struct Fresh : fake::Runtime {
  static int next;
  int ordinal = next++;
  Fresh() {
    fake::runtime = this;
    cudaSetDevice(ordinal);
    fake::set_last_error(cudaSuccess);
    calls = 0;
  }
  vdn_status_t enqueue(std::int64_t n = 707, vdn_variant_t variant = VDN_VARIANT_AUTO, void* stream = nullptr) {
    return host::enqueue(some_params(n), variant, false, stream);
  }
  // The runtime is as the caller left it.
  void check_clean() const {
    CHECK(fake::last_error() == cudaSuccess);
    CHECK(fake::capture_mode() == cudaStreamCaptureModeGlobal);
    CHECK(fake::current_device() == ordinal);
    CHECK(unsafe_in_capture == 0);
  }
};
int Fresh::next = 0;

std::string message() { return host::last_message(); }

TEST_CASE("the first call prepares and launches, the next ones ask for the device alone") {
  Fresh runtime;
  CHECK(runtime.enqueue() == VDN_STATUS_SUCCESS);
  CHECK(runtime.prepares == 1);
  CHECK(runtime.pair_prepares == 1);
  CHECK(runtime.compact_prepares == 1);
  CHECK(runtime.launches == 1);
  CHECK(runtime.launched == VDN_VARIANT_SINGLE);
  CHECK(runtime.shape.grid == 396);
  CHECK_FALSE(runtime.shape.programmatic_launch);

  runtime.calls = 0;
  int word = 0;
  CHECK(host::enqueue(some_params(5), VDN_VARIANT_SINGLE, true, &word) == VDN_STATUS_SUCCESS);
  CHECK(runtime.calls == 2);  // cudaGetDevice and the launch
  CHECK(runtime.prepares == 1);
  CHECK(runtime.shape.grid == 5);
  CHECK(runtime.shape.programmatic_launch);
  CHECK(runtime.stream == &word);
  runtime.check_clean();
}

TEST_CASE("a success leaves the caller's own pending error alone") {
  Fresh runtime;
  CHECK(runtime.enqueue() == VDN_STATUS_SUCCESS);
  fake::set_last_error(cudaErrorInvalidConfiguration);
  CHECK(runtime.enqueue() == VDN_STATUS_SUCCESS);
  CHECK(fake::last_error() == cudaErrorInvalidConfiguration);
  fake::set_last_error(cudaSuccess);
}

TEST_CASE("STR-12: preparing leaves the caller's own pending error alone, and is not misled by it") {
  for (const bool by_a_call : {false, true}) {
    CAPTURE(by_a_call);
    Fresh runtime;
    fake::set_last_error(cudaErrorInvalidConfiguration);
    CHECK((by_a_call ? runtime.enqueue() : host::prepare(-1, nullptr)) == VDN_STATUS_SUCCESS);
    CHECK(fake::last_error() == cudaErrorInvalidConfiguration);
    CHECK(runtime.prepares == 1);
    CHECK(runtime.prepared_device == runtime.ordinal);
    CHECK(fake::current_device() == runtime.ordinal);
    CHECK(runtime.launches == (by_a_call ? 1 : 0));
    fake::set_last_error(cudaSuccess);
  }
}

TEST_CASE("unprepared in a capture: refused, nothing loaded, nothing enqueued, nothing left behind") {
  Fresh runtime;
  for (const cudaError_t answer : {cudaSuccess, cudaErrorStreamCaptureImplicit}) {
    // The second: the legacy stream while a blocking stream is captured; the status is then unspecified.
    runtime.is_capturing = answer;
    runtime.capture = answer == cudaSuccess ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
    CHECK(runtime.enqueue() == VDN_STATUS_NOT_PREPARED);
    CHECK(message().find("vdn_delta_prepare") != std::string::npos);
    runtime.check_clean();
  }
  CHECK(runtime.prepares == 0);
  CHECK(runtime.launches == 0);

  runtime.is_capturing = cudaSuccess;
  runtime.capture = cudaStreamCaptureStatusActive;
  CHECK(host::prepare(-1, nullptr) == VDN_STATUS_SUCCESS);  // allowed: it loads in relaxed mode
  CHECK(runtime.enqueue() == VDN_STATUS_SUCCESS);
  runtime.check_clean();
}

TEST_CASE("a failed preparation is reported, cleaned up and tried again") {
  Fresh runtime;
  const struct {
    cudaError_t error;
    vdn_status_t status;
  } cases[] = {
      {cudaErrorMemoryAllocation, VDN_STATUS_OUT_OF_MEMORY},
      {cudaErrorIllegalAddress, VDN_STATUS_CUDA_ERROR},
      {cudaErrorInvalidValue, VDN_STATUS_CUDA_ERROR},
      {cudaErrorNoKernelImageForDevice, VDN_STATUS_UNSUPPORTED},
      {cudaErrorUnsupportedPtxVersion, VDN_STATUS_UNSUPPORTED},
      {cudaErrorJitCompilerNotFound, VDN_STATUS_UNSUPPORTED},
  };
  int tries = 0;
  runtime.device.pair.ctas_per_sm = 0;  // an error that came before the occupancy was known
  for (const auto& c : cases) {
    CAPTURE(c.error);
    runtime.prepare = c.error;
    for (const bool explicitly : {true, false}) {
      CHECK((explicitly ? host::prepare(-1, nullptr) : runtime.enqueue()) == c.status);
      CHECK(runtime.pair_prepares == ++tries);
      CHECK(message() != "");
      runtime.check_clean();
    }
  }
  CHECK(runtime.launches == 0);
  runtime.prepare = cudaSuccess;
  CHECK(runtime.enqueue() == VDN_STATUS_SUCCESS);
  CHECK(runtime.launches == 1);
}

TEST_CASE("AUTO on an H200: pair up to 66 matrices, then compact; each can be forced") {
  Fresh runtime;
  const struct {
    std::int64_t n;
    vdn_variant_t wanted, launched;
    int grid;
  } cases[] = {
      {1, VDN_VARIANT_AUTO, VDN_VARIANT_PAIR, 2},
      {66, VDN_VARIANT_AUTO, VDN_VARIANT_PAIR, 132},
      {67, VDN_VARIANT_AUTO, VDN_VARIANT_COMPACT, 67},
      {VDN_DELTA_MAX_N, VDN_VARIANT_AUTO, VDN_VARIANT_SINGLE, 396},
      {1, VDN_VARIANT_SINGLE, VDN_VARIANT_SINGLE, 1},
      {67, VDN_VARIANT_PAIR, VDN_VARIANT_PAIR, 132},
      {1, VDN_VARIANT_COMPACT, VDN_VARIANT_COMPACT, 1},
      {707, VDN_VARIANT_COMPACT, VDN_VARIANT_COMPACT, 132},
      {VDN_DELTA_MAX_N, VDN_VARIANT_PAIR, VDN_VARIANT_PAIR, 132},
  };
  for (const auto& c : cases) {
    CAPTURE(c.n);
    CAPTURE(c.wanted);
    CHECK(runtime.enqueue(c.n, c.wanted) == VDN_STATUS_SUCCESS);
    CHECK(runtime.launched == c.launched);
    CHECK(runtime.shape.grid == c.grid);
  }
  CHECK(runtime.prepares == 1);
  CHECK(runtime.pair_prepares == 1);
  CHECK(runtime.compact_prepares == 1);
  runtime.check_clean();
}

// Pair is refused with words that hold `says`; AUTO and the others go on, and nothing is left behind.
void check_without_pair(Fresh& runtime, const std::string& says) {
  CHECK(host::prepare(-1, nullptr) == VDN_STATUS_SUCCESS);
  runtime.check_clean();
  CHECK(runtime.enqueue(1, VDN_VARIANT_PAIR) == VDN_STATUS_UNSUPPORTED);
  CAPTURE(message());
  CHECK(message().find("pair") != std::string::npos);
  CHECK(message().find(says) != std::string::npos);
  CHECK(runtime.launches == 0);
  for (const vdn_variant_t variant : {VDN_VARIANT_AUTO, VDN_VARIANT_SINGLE, VDN_VARIANT_COMPACT}) {
    CHECK(runtime.enqueue(1, variant) == VDN_STATUS_SUCCESS);
    CHECK(runtime.launched == (variant == VDN_VARIANT_AUTO ? VDN_VARIANT_COMPACT : variant));
    CHECK(runtime.shape.grid == 1);
  }
  CHECK(runtime.prepares == 1);
  runtime.check_clean();
}

TEST_CASE("a device that holds no cluster (MIG, green contexts): pair is UNSUPPORTED, AUTO goes on") {
  Fresh runtime;
  runtime.device.multiprocessors = 7;
  runtime.device.pair.clusters = 0;
  check_without_pair(runtime, "cluster of 2");
}

TEST_CASE("a runtime that does not count clusters, whatever it answers, does not keep the others from running") {
  for (const cudaError_t error : {cudaErrorInvalidClusterSize, cudaErrorInvalidValue, cudaErrorNotSupported,
                                  cudaErrorInvalidConfiguration, cudaErrorMemoryAllocation, cudaErrorUnknown}) {
    CAPTURE(error);
    Fresh runtime;
    runtime.prepare_pair = error;
    runtime.device.pair.clusters = 5;  // not to be believed
    check_without_pair(runtime, "cluster of 2");
  }
}

TEST_CASE("a pair that is not for this device does not keep the others from running") {
  for (const cudaError_t error : {cudaErrorNoKernelImageForDevice, cudaErrorInvalidClusterSize,
                                  cudaErrorUnsupportedPtxVersion, cudaErrorInvalidValue}) {
    CAPTURE(error);
    Fresh runtime;
    runtime.prepare_pair = error;
    runtime.device.pair = {448, error == cudaErrorInvalidValue ? 240000 : 120000, 0, 0};
    check_without_pair(runtime, error == cudaErrorInvalidValue ? "240000" : "does not run");
  }
}

// As on 10.3 where the library was built by an nvcc that knows no sm_100f, on 11.x, and from plain PTX on any GPU.
TEST_CASE("a single that has no code for this device, or whose code refuses, does not keep the others from running") {
  for (const cudaError_t error : {cudaErrorNoKernelImageForDevice, cudaErrorInvalidDeviceFunction,
                                  cudaErrorInvalidKernelImage, cudaSuccess}) {  // the last: it says 0 CTAs
    CAPTURE(error);
    Fresh runtime;
    runtime.device.capability_major = 10;
    runtime.device.capability_minor = 3;
    runtime.prepare_single = error;
    runtime.device.kernel = {512, 231168, 0, 0};
    CHECK(runtime.enqueue(707, VDN_VARIANT_SINGLE) == VDN_STATUS_UNSUPPORTED);
    CAPTURE(message());
    CHECK(message().find("variant single") != std::string::npos);
    CHECK(message().find("does not run on device") != std::string::npos);
    CHECK(message().find("10.3") != std::string::npos);
    CHECK(runtime.launches == 0);
    runtime.check_clean();
    const struct {
      std::int64_t n;
      vdn_variant_t wanted, launched;
    } cases[] = {
        {1, VDN_VARIANT_AUTO, VDN_VARIANT_PAIR},
        {100, VDN_VARIANT_AUTO, VDN_VARIANT_COMPACT},
        {200, VDN_VARIANT_AUTO, VDN_VARIANT_COMPACT},
        {1000, VDN_VARIANT_AUTO, VDN_VARIANT_COMPACT},
        {VDN_DELTA_MAX_N, VDN_VARIANT_AUTO, VDN_VARIANT_COMPACT},
        {707, VDN_VARIANT_PAIR, VDN_VARIANT_PAIR},
        {707, VDN_VARIANT_COMPACT, VDN_VARIANT_COMPACT},
    };
    for (const auto& c : cases) {
      CAPTURE(c.n);
      CHECK(runtime.enqueue(c.n, c.wanted) == VDN_STATUS_SUCCESS);
      CHECK(runtime.launched == c.launched);
    }
    CHECK(runtime.prepares == 1);
    runtime.check_clean();
  }
}

TEST_CASE("a single that refuses leaves the caller's own pending error alone") {
  Fresh runtime;
  runtime.prepare_single = cudaErrorNoKernelImageForDevice;
  runtime.device.kernel = {512, 231168, 0, 0};
  fake::set_last_error(cudaErrorInvalidConfiguration);
  CHECK(runtime.enqueue(1000) == VDN_STATUS_SUCCESS);
  CHECK(runtime.launched == VDN_VARIANT_COMPACT);
  CHECK(fake::last_error() == cudaErrorInvalidConfiguration);
  fake::set_last_error(cudaSuccess);
}

TEST_CASE("a pair that cannot be loaded for another reason is an error, and is tried again") {
  Fresh runtime;
  runtime.device.pair.ctas_per_sm = 0;
  runtime.prepare_pair = cudaErrorMemoryAllocation;
  CHECK(runtime.enqueue(1, VDN_VARIANT_SINGLE) == VDN_STATUS_OUT_OF_MEMORY);
  CHECK(message().find("cudaErrorMemoryAllocation") != std::string::npos);
  runtime.check_clean();
  runtime.prepare_pair = cudaSuccess;
  runtime.device.pair.ctas_per_sm = 1;
  CHECK(runtime.enqueue(1) == VDN_STATUS_SUCCESS);
  CHECK(runtime.launched == VDN_VARIANT_PAIR);
}

TEST_CASE("a device in error is not taken for one without clusters") {
  Fresh runtime;
  runtime.prepare_pair = cudaErrorIllegalAddress;  // at the last question
  runtime.prepare = cudaErrorIllegalAddress;       // and everywhere after it
  CHECK(runtime.enqueue() == VDN_STATUS_CUDA_ERROR);
  runtime.check_clean();
  runtime.prepare_pair = runtime.prepare = cudaSuccess;
  CHECK(runtime.enqueue(1) == VDN_STATUS_SUCCESS);
  CHECK(runtime.launched == VDN_VARIANT_PAIR);
}

TEST_CASE("a GPU older than 9.0: compact alone is asked and launched, and not as a programmatic launch") {
  Fresh runtime;
  runtime.device.capability_major = 8;
  runtime.device.capability_minor = 6;
  runtime.device.shared_bytes_limit = 101376;
  runtime.device.multiprocessors = 84;
  int word = 0;
  for (const std::int64_t n : {std::int64_t{1}, VDN_DELTA_MAX_N}) {
    CHECK(host::enqueue(some_params(n), VDN_VARIANT_AUTO, true, &word) == VDN_STATUS_SUCCESS);
    CHECK(runtime.launched == VDN_VARIANT_COMPACT);
    CHECK_FALSE(runtime.shape.programmatic_launch);
    CHECK(runtime.shape.grid == std::min<std::int64_t>(n, 84));
  }
  CHECK(runtime.compact_prepares == 1);
  CHECK(runtime.prepares == 0);
  CHECK(runtime.pair_prepares == 0);
  for (const vdn_variant_t variant : {VDN_VARIANT_PAIR, VDN_VARIANT_SINGLE}) {
    CHECK(runtime.enqueue(1, variant) == VDN_STATUS_UNSUPPORTED);
    CHECK(message().find("needs 9.0") != std::string::npos);
  }
  runtime.check_clean();
}

TEST_CASE("too little shared memory is UNSUPPORTED, with the figures, however the kernel says it") {
  for (const cudaError_t error : {cudaErrorInvalidValue, cudaSuccess}) {
    Fresh runtime;
    runtime.device.capability_major = 12;
    runtime.device.shared_bytes_limit = 101376;
    runtime.device.kernel = runtime.device.pair = runtime.device.compact = {160, 112640, 0, 0};
    runtime.prepare = error;
    CHECK(runtime.enqueue() == VDN_STATUS_UNSUPPORTED);
    CHECK(message().find("101376") != std::string::npos);
    CHECK(message().find("112640") != std::string::npos);
    runtime.check_clean();
  }
}

TEST_CASE("an older GPU is refused without asking the kernel") {
  Fresh runtime;
  runtime.device.capability_major = 7;
  runtime.device.capability_minor = 5;
  CHECK(runtime.enqueue() == VDN_STATUS_UNSUPPORTED);
  CHECK(message().find("7.5") != std::string::npos);
  CHECK(runtime.prepares == 0);
  CHECK(runtime.pair_prepares == 0);
  CHECK(runtime.compact_prepares == 0);
  runtime.check_clean();
}

TEST_CASE("no device, in all the runtime's words for it") {
  Fresh runtime;
  for (const cudaError_t error : {cudaErrorNoDevice, cudaErrorInsufficientDriver, cudaErrorStubLibrary,
                                  cudaErrorSystemDriverMismatch, cudaErrorCompatNotSupportedOnDevice}) {
    runtime.get_device = error;
    host::DeviceFacts facts;
    CHECK(runtime.enqueue() == VDN_STATUS_NO_DEVICE);
    CHECK(host::prepare(-1, nullptr) == VDN_STATUS_NO_DEVICE);
    CHECK(host::device_facts(-1, &facts) == VDN_STATUS_NO_DEVICE);
    runtime.check_clean();
  }
}

TEST_CASE("without a driver the message is not about its version") {
  Fresh runtime;
  runtime.get_device = cudaErrorInsufficientDriver;
  CHECK(runtime.enqueue() == VDN_STATUS_NO_DEVICE);
  CHECK(message().find("made up") != std::string::npos);  // the runtime's own text
  runtime.driver = 0;
  CHECK(runtime.enqueue() == VDN_STATUS_NO_DEVICE);
  CHECK(message().find("there is no NVIDIA driver") != std::string::npos);
  runtime.driver_get_version = cudaErrorUnknown;
  CHECK(runtime.enqueue() == VDN_STATUS_NO_DEVICE);
  CHECK(message().find("made up") != std::string::npos);
  runtime.check_clean();
  runtime.driver_get_version = cudaSuccess;
  runtime.get_device = cudaErrorNoDevice;
  CHECK(runtime.enqueue() == VDN_STATUS_NO_DEVICE);
  CHECK(message().find("made up") != std::string::npos);
}

TEST_CASE("a failed launch is reported and cleaned up, and the next one works") {
  Fresh runtime;
  const struct {
    cudaError_t error;
    vdn_status_t status;
    const char* says;
  } cases[] = {
      {cudaErrorInvalidResourceHandle, VDN_STATUS_INVALID_ARGUMENT, "stream"},
      {cudaErrorLaunchOutOfResources, VDN_STATUS_CUDA_ERROR, "launch"},
      {cudaErrorMemoryAllocation, VDN_STATUS_OUT_OF_MEMORY, "cudaErrorMemoryAllocation"},
  };
  for (const auto& c : cases) {
    runtime.launch = c.error;
    CHECK(runtime.enqueue() == c.status);
    CHECK(message().find(c.says) != std::string::npos);
    runtime.check_clean();
  }
  runtime.launch = cudaSuccess;
  CHECK(runtime.enqueue() == VDN_STATUS_SUCCESS);
  runtime.is_capturing = cudaErrorInvalidResourceHandle;  // not asked any more
  CHECK(runtime.enqueue() == VDN_STATUS_SUCCESS);
}

TEST_CASE("a bad stream on the first call is the caller's mistake too") {
  Fresh runtime;
  runtime.is_capturing = cudaErrorInvalidResourceHandle;
  CHECK(runtime.enqueue() == VDN_STATUS_INVALID_ARGUMENT);
  CHECK(runtime.prepares == 0);
  runtime.check_clean();
}

TEST_CASE("preparing another device leaves the current one current, and serves later calls there") {
  Fresh runtime;
  const int other = Fresh::next++;
  CHECK(host::prepare(other, nullptr) == VDN_STATUS_SUCCESS);
  CHECK(runtime.prepared_device == other);
  runtime.check_clean();

  cudaSetDevice(other);
  runtime.capture = cudaStreamCaptureStatusActive;
  CHECK(runtime.enqueue() == VDN_STATUS_SUCCESS);
  CHECK(runtime.prepares == 1);

  cudaSetDevice(runtime.ordinal);
  CHECK(runtime.enqueue() == VDN_STATUS_NOT_PREPARED);  // each device for itself
}

// A device of 16 multiprocessors that holds three clusters, one that holds none, and the usual one: what is learned
// about one says nothing about another, whichever is asked first and from wherever.
TEST_CASE("ARC-06: two devices that differ have each their own answer") {
  Fresh runtime;
  const int few = Fresh::next++, none = Fresh::next++;
  runtime.others[few].multiprocessors = 16;
  runtime.others[few].pair.clusters = 3;
  runtime.others[none].multiprocessors = 7;
  runtime.others[none].pair.clusters = 0;
  CHECK(host::prepare(none, nullptr) == VDN_STATUS_SUCCESS);  // from the usual one
  const struct {
    int ordinal;
    vdn_status_t pair;
    int pair_grid, single_grid;  // of 707 matrices
  } cases[] = {{runtime.ordinal, VDN_STATUS_SUCCESS, 132, 396},
               {none, VDN_STATUS_UNSUPPORTED, 0, 21},
               {few, VDN_STATUS_SUCCESS, 6, 48}};
  for (int round = 0; round < 2; ++round) {
    for (const auto& c : cases) {
      CAPTURE(c.ordinal);
      cudaSetDevice(c.ordinal);
      runtime.shape = {};
      CHECK(runtime.enqueue(707, VDN_VARIANT_PAIR) == c.pair);
      CHECK(runtime.shape.grid == c.pair_grid);
      CHECK(runtime.enqueue(707, VDN_VARIANT_SINGLE) == VDN_STATUS_SUCCESS);
      CHECK(runtime.shape.grid == c.single_grid);
    }
  }
  CHECK(runtime.prepares == 3);
  cudaSetDevice(runtime.ordinal);
  runtime.check_clean();
}

TEST_CASE("what went wrong on another device is told to the caller's thread") {
  Fresh runtime;
  const int other = Fresh::next++;
  runtime.prepare = cudaErrorMemoryAllocation;
  CHECK(host::prepare(other, nullptr) == VDN_STATUS_OUT_OF_MEMORY);
  CHECK(message().find("cudaErrorMemoryAllocation") != std::string::npos);
  runtime.check_clean();
  runtime.devices = 60;
  for (const int missing : {60, 63, 64, 1000000, -2}) {
    CHECK(host::prepare(missing, nullptr) == VDN_STATUS_INVALID_ARGUMENT);
    host::DeviceFacts facts;
    CHECK(host::device_facts(missing, &facts) == VDN_STATUS_INVALID_ARGUMENT);
    runtime.check_clean();
  }
}

TEST_CASE("preparing again does the work again; asking for the facts does not") {
  Fresh runtime;
  host::DeviceFacts facts;
  CHECK(host::device_facts(-1, &facts) == VDN_STATUS_SUCCESS);
  CHECK(host::device_facts(runtime.ordinal, &facts) == VDN_STATUS_SUCCESS);
  CHECK(runtime.prepares == 1);
  CHECK(facts.device == runtime.ordinal);
  CHECK(facts.multiprocessors == 132);
  CHECK(host::prepare(runtime.ordinal, &facts) == VDN_STATUS_SUCCESS);
  CHECK(runtime.prepares == 2);
}

TEST_CASE("many threads meet an unprepared device at once") {
  Fresh runtime;
  std::vector<std::thread> threads;
  std::atomic<int> good{0};
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      cudaSetDevice(runtime.ordinal);
      for (int i = 0; i < 1000; ++i) {
        host::DeviceFacts facts;
        good += host::device_facts(-1, &facts) == VDN_STATUS_SUCCESS && facts.variants[1].ctas_per_sm == 3;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(good == 8000);
  CHECK(runtime.prepares >= 1);
  CHECK(runtime.prepares <= 8);
}

}  // namespace
