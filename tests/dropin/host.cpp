// SPDX-License-Identifier: Apache-2.0
//
// The host side of the one-file header, as nvcc has compiled it, against a made-up CUDA runtime: what is refused, which
// kernel is chosen on which device, what is done once and what in every call, and what the tensor function checks.
// What is learned about a device lives as long as the process, so each test takes an ordinal of its own.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "fake_cuda.h"
#include "params.h"
#include "shim.h"

#ifdef VDN_TEST_TVM_FFI
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/ffi/function.h>

extern "C" int __tvm_ffi_vdn_delta_factors(void*, const TVMFFIAny*, int32_t, TVMFFIAny*);
extern "C" int __tvm_ffi_vdn_delta_factors_pair(void*, const TVMFFIAny*, int32_t, TVMFFIAny*);
#endif

namespace {

using Words = std::int64_t;
constexpr Words kMatrix = 128 * 128;

float* address(Words words) { return reinterpret_cast<float*>(std::uintptr_t{0x10000000} + 4 * words); }

// A call with five arrays of n matrices at made-up addresses, one behind the other.
shim::Call good_call(Words n) {
  shim::Call call = shim::call_of_defaults();
  const Words stride = n * kMatrix;
  call.A = address(0);
  call.B = address(stride);
  call.transition = address(2 * stride);
  call.injection = address(3 * stride);
  call.alpha = address(4 * stride);
  call.n = n;
  return call;
}

// A runtime for one test, on a device that no other test has used.
struct Fresh : fake::Runtime {
  static int next;
  int ordinal = next++;
  Fresh() {
    fake::runtime = this;
    cudaSetDevice(ordinal);
    calls = 0;
  }
  Fresh(int major, int minor, int shared_bytes, int built_for) : Fresh() {
    capability_major = major;
    capability_minor = minor;
    shared_bytes_limit = shared_bytes;
    code = built_for;
  }
  vdn_delta::Params seen() const {
    vdn_delta::Params seen{};
    REQUIRE(params.size() == sizeof seen);
    std::memcpy(&seen, params.data(), sizeof seen);
    return seen;
  }
  // The room that a call takes, or "" if it is refused because nothing can run.
  std::string choice(shim::Variant variant, Words n = 707) {
    kernel.clear();
    const int error = shim::launch(variant, good_call(n), nullptr);
    if (error != cudaSuccess) CHECK(error == cudaErrorNoKernelImageForDevice);
    CHECK(fake::last_error() == cudaSuccess);
    return kernel;
  }
};
int Fresh::next = 0;

constexpr int kLarge = 227 * 1024, kSmall = 99 * 1024;

TEST_CASE("the arguments reach the kernel, and a prepared call is cudaGetDevice and the launch") {
  Fresh runtime;
  int word = 0;
  auto* stream = reinterpret_cast<cudaStream_t>(&word);
  shim::Call call = good_call(707);
  call.info = reinterpret_cast<std::int32_t*>(address(1 << 30));
  call.a_scale = 0.5f;
  call.b_scale = 2.0f;
  CHECK(shim::launch(shim::kSingle, call, stream) == cudaSuccess);
  CHECK(runtime.launches == 1);
  CHECK(runtime.unsafe_in_capture == 0);
  CHECK(fake::capture_mode() == cudaStreamCaptureModeGlobal);
  CHECK(runtime.kernel == "single");
  CHECK(runtime.grid == 132);
  CHECK_FALSE(runtime.programmatic);
  CHECK(runtime.stream == stream);
  const vdn_delta::Params seen = runtime.seen();
  CHECK(seen.A == call.A);
  CHECK(seen.B == call.B);
  CHECK(seen.alpha == call.alpha);
  CHECK(seen.T == call.transition);
  CHECK(seen.J == call.injection);
  CHECK(seen.info == call.info);
  CHECK(seen.n == 707);
  CHECK(seen.a_scale == 0.5f);
  CHECK(seen.b_scale == 2.0f);

  runtime.calls = 0;
  call.n = 5;
  call.programmatic_launch = true;
  CHECK(shim::launch(shim::kSingle, call, stream) == cudaSuccess);
  CHECK(runtime.calls == 2);
  CHECK(runtime.grid == 5);
  CHECK(runtime.programmatic);
}

TEST_CASE("no matrix, no call of the runtime") {
  Fresh runtime;
  CHECK(shim::launch(shim::kDefault, shim::call_of_defaults(), nullptr) == cudaSuccess);
  CHECK(runtime.calls == 0);
}

TEST_CASE("wrong arguments are refused before anything is done") {
  Fresh runtime;
  const Words n = 3;
  const auto refused = [&](auto change, const char* why) {
    shim::Call call = good_call(n);
    CHECK(shim::find_fault(call) == nullptr);
    change(call);
    const char* fault = shim::find_fault(call);
    REQUIRE(fault != nullptr);
    CHECK(std::strstr(fault, why) != nullptr);
    runtime.calls = 0;
    CHECK(shim::launch(shim::kDefault, call, nullptr) == cudaErrorInvalidValue);
    CHECK(runtime.launches == 0);
    CHECK(fake::last_error() == cudaSuccess);
  };
  refused([](auto& call) { call.n = -1; }, "n must");
  refused([](auto& call) { call.n = (Words{1} << 30) + 1; }, "n must");
  refused([](auto& call) { call.a_scale = 0.0f; }, "a_scale");
  refused([](auto& call) { call.a_scale = -1.0f; }, "a_scale");
  refused([](auto& call) { call.b_scale = INFINITY; }, "b_scale");
  refused([](auto& call) { call.b_scale = NAN; }, "b_scale");
  refused([](auto& call) { call.A = nullptr; }, "null");
  refused([](auto& call) { call.alpha = nullptr; }, "null");
  refused([](auto& call) { call.injection = nullptr; }, "null");
  refused([](auto& call) { call.B = reinterpret_cast<const float*>(reinterpret_cast<const char*>(call.B) + 2); },
          "aligned");
  refused([](auto& call) { call.transition = const_cast<float*>(call.A); }, "overlap");
  refused([](auto& call) { call.injection = call.transition; }, "overlap");
  refused([](auto& call) { call.transition = const_cast<float*>(call.A) + n * kMatrix - 1; }, "overlap");
  refused([](auto& call) { call.injection = const_cast<float*>(call.alpha) + n * 128 - 1; }, "overlap");
  refused([](auto& call) { call.info = reinterpret_cast<std::int32_t*>(call.injection); }, "overlap");
  // What is allowed: inputs in one place, and arrays that touch.
  shim::Call call = good_call(n);
  call.B = call.A;
  CHECK(shim::find_fault(call) == nullptr);
  call.transition = const_cast<float*>(call.A) + n * kMatrix;
  CHECK(shim::find_fault(call) == nullptr);
}

TEST_CASE("Hopper and Blackwell data-centre GPUs take the kernel that is asked for") {
  for (const int capability : {90, 100, 103}) {
    Fresh runtime(capability / 10, capability % 10, kLarge, capability);
    for (const auto variant : {shim::kDefault, shim::kAuto}) {
      CHECK(runtime.choice(variant) == "single");
      CHECK(runtime.choice(variant, 64) == "pair");
      CHECK(runtime.choice(variant, 132) == "compact");
    }
    CHECK(runtime.choice(shim::kSingle, 1) == "single");
    CHECK(runtime.choice(shim::kPair) == "pair");
    CHECK(runtime.cluster == 2);
    CHECK(runtime.grid == 132);  // 66 clusters
    CHECK(runtime.choice(shim::kPair, 5) == "pair");
    CHECK(runtime.grid == 10);
    CHECK(runtime.choice(shim::kCompact, 1) == "compact");
    CHECK(runtime.choice(shim::kCompact) == "compact");
    CHECK(runtime.grid == 132);
  }
}

TEST_CASE("without features of its own the header's code holds no single: the others do its work") {
  for (const int capability : {90, 100, 103}) {
    Fresh plain(capability / 10, capability % 10, kLarge, capability);
    plain.code_is_plain = true;
    Fresh without(capability / 10, capability % 10, kLarge, capability);
    without.single_has_code = false;
    for (Fresh* runtime : {&plain, &without}) {
      fake::runtime = runtime;
      cudaSetDevice(runtime->ordinal);
      CHECK(runtime->choice(shim::kAuto, 1) == "pair");
      CHECK(runtime->choice(shim::kAuto, 132) == "compact");
      CHECK(runtime->choice(shim::kAuto, 198) == "pair");
      CHECK(runtime->choice(shim::kAuto, 1000) == "compact");
      CHECK(runtime->choice(shim::kSingle) == "compact");
      CHECK(runtime->choice(shim::kPair) == "pair");
      CHECK(runtime->choice(shim::kCompact) == "compact");
      runtime->choice(shim::kAuto);
      CHECK(runtime->prepares == 2);
    }
  }
}

TEST_CASE("where no cluster finds a place, single does the work of pair, and AUTO goes on") {
  Fresh runtime;
  runtime.clusters = 0;
  CHECK(runtime.choice(shim::kPair, 1) == "single");
  CHECK(runtime.choice(shim::kAuto, 1) == "compact");
}

TEST_CASE("GPUs without clusters, or with little shared memory, take the compact kernel") {
  for (const int capability : {80, 86, 87, 89}) {
    Fresh runtime(capability / 10, capability % 10, capability == 80 ? 163 * 1024 : kSmall, capability);
    for (const auto variant : {shim::kDefault, shim::kPair, shim::kAuto}) CHECK(runtime.choice(variant) == "compact");
  }
  Fresh consumer(12, 0, kSmall, 120);  // enough for pair
  CHECK(consumer.choice(shim::kSingle) == "compact");
  CHECK(consumer.choice(shim::kPair) == "pair");
  Fresh older(7, 5, 64 * 1024, 75);
  CHECK(older.choice(shim::kDefault) == "");
}

TEST_CASE("programmatic launch is not asked of a GPU that has none") {
  Fresh runtime(8, 9, kSmall, 89);
  shim::Call call = good_call(9);
  call.programmatic_launch = true;
  CHECK(shim::launch(shim::kDefault, call, nullptr) == cudaSuccess);
  CHECK_FALSE(runtime.programmatic);
}

TEST_CASE("code that was built for an older machine holds stubs, which are not launched") {
  Fresh runtime(9, 0, kLarge, 80);
  CHECK(runtime.choice(shim::kDefault) == "compact");
  CHECK(runtime.choice(shim::kPair) == "compact");
}

TEST_CASE("a failed preparation is answered, not remembered") {
  Fresh runtime;
  runtime.get_attributes = cudaErrorMemoryAllocation;
  CHECK(shim::launch(shim::kDefault, good_call(1), nullptr) == cudaErrorMemoryAllocation);
  CHECK(shim::prepare() == cudaErrorMemoryAllocation);
  CHECK(fake::last_error() == cudaSuccess);
  CHECK(fake::capture_mode() == cudaStreamCaptureModeGlobal);
  CHECK(runtime.launches == 0);
  runtime.get_attributes = cudaSuccess;
  CHECK(shim::launch(shim::kDefault, good_call(1), nullptr) == cudaSuccess);
}

TEST_CASE("a failed launch is answered and leaves no error behind") {
  Fresh runtime;
  runtime.launch = cudaErrorInvalidResourceHandle;
  CHECK(shim::launch(shim::kDefault, good_call(1), nullptr) == cudaErrorInvalidResourceHandle);
  CHECK(fake::last_error() == cudaSuccess);
}

TEST_CASE("many threads prepare a device once") {
  Fresh runtime;
  std::vector<std::thread> threads;
  std::atomic<int> failures{0};
  for (int t = 0; t < 16; ++t)
    threads.emplace_back([&] {
      cudaSetDevice(runtime.ordinal);
      failures += shim::prepare() != cudaSuccess;
    });
  for (auto& thread : threads) thread.join();
  CHECK(failures == 0);
  CHECK(runtime.prepares == 3);
}

#ifdef VDN_TEST_TVM_FFI

// A tensor of a made-up CUDA device.
struct Tensor {
  std::vector<std::int64_t> shape, strides;
  DLTensor tensor{};
  Tensor(float* data, std::vector<std::int64_t> sizes, int device) : shape(std::move(sizes)), strides(shape.size()) {
    std::int64_t stride = 1;
    for (std::size_t i = shape.size(); i-- > 0; stride *= shape[i]) strides[i] = stride;
    tensor.data = data;
    tensor.device = {kDLCUDA, device};
    tensor.dtype = {kDLFloat, 32, 1};
    tensor.ndim = static_cast<int>(shape.size());
  }
};

struct Tensors {
  Tensor transition, injection, A, B, alpha;
  Tensors(Words n, int device)
      : transition(address(2 * n * kMatrix), {n, 128, 128}, device),
        injection(address(3 * n * kMatrix), {n, 128, 128}, device),
        A(address(0), {n, 128, 128}, device),
        B(address(n * kMatrix), {n, 128, 128}, device),
        alpha(address(4 * n * kMatrix), {n, 128}, device) {}
  // "" or the kind of the error and its message.
  std::string call(decltype(__tvm_ffi_vdn_delta_factors)* function = __tvm_ffi_vdn_delta_factors) {
    TVMFFIAny args[5]{};
    int i = 0;
    for (Tensor* t : {&transition, &injection, &A, &B, &alpha}) {
      t->tensor.shape = t->shape.data();
      t->tensor.strides = t->strides.data();
      args[i].type_index = kTVMFFIDLTensorPtr;
      args[i++].v_ptr = &t->tensor;
    }
    tvm::ffi::Any result;
    try {
      TVM_FFI_CHECK_SAFE_CALL(function(nullptr, args, 5, reinterpret_cast<TVMFFIAny*>(&result)));
    } catch (const tvm::ffi::Error& error) {
      return std::string(error.kind()) + ": " + std::string(error.message());
    }
    return "";
  }
};

bool starts_with(const std::string& text, const char* start) { return text.rfind(start, 0) == 0; }

TEST_CASE("the exported function launches on the tensors' device and its environment stream") {
  Fresh runtime;
  const int other = Fresh::next++;
  Tensors tensors(33, other);
  int word = 0;
  void* before = nullptr;
  CHECK(TVMFFIEnvSetStream(kDLCUDA, other, &word, &before) == 0);
  CHECK(tensors.call() == "");
  CHECK(runtime.kernel == "pair");
  CHECK(runtime.device == other);
  CHECK(static_cast<void*>(runtime.stream) == &word);
  int current = -1;
  cudaGetDevice(&current);
  CHECK(current == runtime.ordinal);
  const vdn_delta::Params seen = runtime.seen();
  CHECK(static_cast<const void*>(seen.A) == tensors.A.tensor.data);
  CHECK(static_cast<const void*>(seen.B) == tensors.B.tensor.data);
  CHECK(static_cast<const void*>(seen.alpha) == tensors.alpha.tensor.data);
  CHECK(static_cast<void*>(seen.T) == tensors.transition.tensor.data);
  CHECK(static_cast<void*>(seen.J) == tensors.injection.tensor.data);
  CHECK(seen.n == 33);
  CHECK(seen.a_scale == 1.0f);
  CHECK(seen.b_scale == 1.0f);
  CHECK(tensors.call(__tvm_ffi_vdn_delta_factors_pair) == "");
  CHECK(runtime.kernel == "pair");
  CHECK(TVMFFIEnvSetStream(kDLCUDA, other, before, nullptr) == 0);
}

TEST_CASE("the exported function does nothing for no matrix") {
  Fresh runtime;
  Tensors tensors(0, runtime.ordinal);
  for (Tensor* t : {&tensors.transition, &tensors.injection, &tensors.A, &tensors.B, &tensors.alpha})
    t->tensor.data = nullptr;
  CHECK(tensors.call() == "");
  CHECK(runtime.calls == 0);
}

TEST_CASE("the exported function refuses what it cannot compute, and says which tensor") {
  Fresh runtime;
  const auto refused = [&](auto change, const char* kind, const char* why) {
    Tensors tensors(4, runtime.ordinal);
    change(tensors);
    const std::string error = tensors.call();
    CHECK_MESSAGE(starts_with(error, kind), error);
    CHECK_MESSAGE(error.find(why) != std::string::npos, error);
    CHECK(runtime.launches == 0);
  };
  refused([](Tensors& t) { t.A.tensor.dtype = {kDLBfloat, 16, 1}; }, "TypeError", "A must be float32");
  refused([](Tensors& t) { t.alpha.tensor.dtype = {kDLFloat, 64, 1}; }, "TypeError", "alpha must be float32");
  refused([](Tensors& t) { t.A.tensor.device = {kDLCPU, 0}; }, "ValueError", "A must be a CUDA tensor");
  refused([](Tensors& t) { t.B.tensor.device.device_id += 1; }, "ValueError", "B must be on the device of A");
  refused([](Tensors& t) { t.B.shape[0] = 3; }, "ValueError", "B must have the shape [4, 128, 128]");
  refused([](Tensors& t) { t.A.shape[2] = 64; }, "ValueError", "A must have the shape [4, 128, 128]");
  refused([](Tensors& t) { t.alpha.tensor.ndim = 1; }, "ValueError", "alpha must have the shape [4, 128]");
  refused([](Tensors& t) { t.A.tensor.ndim = 0; }, "ValueError", "A must have the shape");
  refused([](Tensors& t) { std::swap(t.A.strides[1], t.A.strides[2]); }, "ValueError", "A must be contiguous");
  refused([](Tensors& t) { t.alpha.strides[0] = 0; }, "ValueError", "alpha must be contiguous");
  refused([](Tensors& t) { t.transition.tensor.data = t.B.tensor.data; }, "ValueError", "overlap");
  refused([](Tensors& t) { t.injection.tensor.data = t.transition.tensor.data; }, "ValueError", "overlap");
  runtime.capability_major = 7;
  Tensors tensors(4, runtime.ordinal);
  CHECK(starts_with(tensors.call(), "RuntimeError: vdn_delta_factors: launch"));
}

#endif

}  // namespace
