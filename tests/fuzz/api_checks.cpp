// SPDX-License-Identifier: Apache-2.0
//
// Fuzz target: the C API's checks of arguments, up to the launch, against a made-up CUDA runtime with made-up errors.
// An input is a runtime and a few calls. Pointers are null, in an arena, or any 64 bits, as nothing is computed on the
// GPU path. Options and plans lie in a heap block of exactly the size that they say, so that the address sanitizer sees
// a byte too many.
//
// After each call:
//   - the status is of the enum, and its message is one line, empty exactly on success;
//   - what the arguments alone decide is decided as the header says, in its order, and reaches no call of the runtime;
//   - a success with n > 0 is one launch of the caller's pointers and options, a failure none (but for one that the
//     runtime has refused);
//   - no word of the arena, the options or, on failure, the plan has changed;
//   - the runtime's last error, current device and capture mode are as they were.
#include <vdn_delta/vdn_delta.h>

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "../host/fake_runtime.h"
#include "bytes.h"

namespace vdn_delta::fuzz {
namespace {

constexpr cudaError_t kErrors[] = {
    cudaSuccess,
    cudaErrorInvalidValue,
    cudaErrorMemoryAllocation,
    cudaErrorNoDevice,
    cudaErrorInvalidDevice,
    cudaErrorInsufficientDriver,
    cudaErrorNoKernelImageForDevice,
    cudaErrorInvalidResourceHandle,
    cudaErrorInvalidClusterSize,
    cudaErrorStreamCaptureImplicit,
    cudaErrorIllegalAddress,
    cudaErrorInvalidDeviceFunction,
    cudaErrorJitCompilationDisabled,
    cudaErrorSystemDriverMismatch,
    cudaErrorLaunchOutOfResources,
    cudaErrorUnknown,
};

// Mostly none.
cudaError_t some_error(Bytes& bytes) {
  const unsigned choice = bytes.below(64);
  return choice < 16 ? kErrors[choice] : cudaSuccess;
}

// Where pointers may point to, and are not followed.
std::vector<std::uint32_t> arena(1 << 14, 0x7fedbeefu);

template <class T>
T* some_pointer(Bytes& bytes) {
  switch (bytes.below(4)) {
    case 0: return nullptr;
    case 1: return reinterpret_cast<T*>(bytes.take<std::uint64_t>());
    case 2: return reinterpret_cast<T*>(std::uint64_t{bytes.take<std::uint16_t>()} << 32);
    default: return reinterpret_cast<T*>(reinterpret_cast<char*>(arena.data()) + bytes.take<std::uint16_t>());
  }
}

std::int64_t some_n(Bytes& bytes) {
  switch (bytes.below(8)) {
    case 0: return bytes.take<std::int64_t>();
    case 1: return VDN_DELTA_MAX_N + static_cast<std::int64_t>(bytes.below(3)) - 1;
    case 2: return -1;
    case 3: return bytes.take<std::uint32_t>() % 5000;
    default: return bytes.below(4);
  }
}

// A struct of the API in a block of the size that it says, as far as that is a size that could be meant.
template <class Struct>
class Sized {
 public:
  Sized(Bytes& bytes, const Struct& usual) {
    Struct value = usual;
    if (bytes.below(4) == 0) value.size = bytes.take<std::uint64_t>();
    if (bytes.below(2) == 0) value.size = bytes.below(2 * sizeof value);
    wanted_ = value.size;
    bytes_ = wanted_ >= sizeof wanted_ && wanted_ <= sizeof value ? wanted_ : sizeof wanted_;
    block_.reset(new unsigned char[bytes_]);
    std::memcpy(block_.get(), &value, bytes_);
  }
  // Sets a field if it is inside.
  template <class Field>
  void set(std::size_t offset, const Field& value) {
    if (offset + sizeof value <= bytes_) std::memcpy(block_.get() + offset, &value, sizeof value);
  }
  Struct* get() { return reinterpret_cast<Struct*>(block_.get()); }
  // Its fields, with the defaults of `usual` for those outside.
  Struct read(Struct usual) const {
    std::memcpy(&usual, block_.get(), bytes_);
    return usual;
  }
  std::vector<unsigned char> bytes() const { return {block_.get(), block_.get() + bytes_}; }
  std::size_t size() const { return wanted_; }

 private:
  std::size_t wanted_, bytes_;
  std::unique_ptr<unsigned char[]> block_;
};

constexpr vdn_delta_options_t kUsual = VDN_DELTA_OPTIONS_INIT;
using Options = Sized<vdn_delta_options_t>;
using Plan = Sized<vdn_delta_plan_t>;

float some_scale(Bytes& bytes) {
  switch (bytes.below(4)) {
    case 0: return bytes.take<float>();
    case 1: return std::numeric_limits<float>::denorm_min();
    default: return 1.0f;
  }
}

std::unique_ptr<Options> some_options(Bytes& bytes) {
  if (bytes.below(4) == 0) return nullptr;
  auto options = std::make_unique<Options>(bytes, kUsual);
  const std::int32_t variant = bytes.below(8) == 0 ? bytes.take<std::int32_t>() : static_cast<int>(bytes.below(4));
  options->set(offsetof(vdn_delta_options_t, variant), variant);
  const std::int32_t early = bytes.below(8) == 0 ? bytes.take<std::int32_t>() : static_cast<int>(bytes.below(2));
  options->set(offsetof(vdn_delta_options_t, programmatic_launch), early);
  options->set(offsetof(vdn_delta_options_t, a_scale), some_scale(bytes));
  options->set(offsetof(vdn_delta_options_t, b_scale), some_scale(bytes));
  if (bytes.below(2) == 0) options->set(offsetof(vdn_delta_options_t, info), some_pointer<std::int32_t>(bytes));
  return options;
}

// ---- what the header says about arguments, once more and in other words
// ----------------------------------------------

// Fields end at these multiples of four; no field but the first and, in options, the last has eight bytes.
bool is_size(std::size_t size, std::size_t whole, bool eight_last) {
  return size >= 8 && size <= whole && size % 4 == 0 && !(eight_last && size == whole - 4);
}

vdn_status_t expected_options(const Options* options) {
  if (options == nullptr) return VDN_STATUS_SUCCESS;
  if (!is_size(options->size(), sizeof(vdn_delta_options_t), true)) return VDN_STATUS_INVALID_ARGUMENT;
  const vdn_delta_options_t read = options->read(kUsual);
  std::int32_t variant;
  std::memcpy(&variant, &read.variant, sizeof variant);
  const bool good = variant >= 0 && variant <= 3 && (read.programmatic_launch == 0 || read.programmatic_launch == 1) &&
                    read.a_scale > 0.0f && read.a_scale < HUGE_VALF && read.b_scale > 0.0f && read.b_scale < HUGE_VALF;
  return good ? VDN_STATUS_SUCCESS : VDN_STATUS_INVALID_ARGUMENT;
}

vdn_status_t expected_n(std::int64_t n) {
  return n < 0 || n > (std::int64_t{1} << 30) ? VDN_STATUS_INVALID_ARGUMENT : VDN_STATUS_SUCCESS;
}

struct Arrays {
  const float *A, *B, *alpha;
  float *T, *J;
  const std::int32_t* info;
};

vdn_status_t expected_arrays(std::int64_t n, const Arrays& arrays) {
  using Wide = unsigned __int128;
  const void* const pointers[] = {arrays.A, arrays.B, arrays.alpha, arrays.T, arrays.J, arrays.info};
  const Wide words[] = {16384, 16384, 128, 16384, 16384, 1};
  for (int i = 0; i < 5; ++i) {
    if (pointers[i] == nullptr) return VDN_STATUS_NULL_POINTER;
  }
  for (const void* pointer : pointers) {
    if (reinterpret_cast<std::uintptr_t>(pointer) & 3) return VDN_STATUS_INVALID_ARGUMENT;
  }
  for (int i = 0; i < 6; ++i) {
    for (int j = i + 1; j < 6; ++j) {
      if (j < 3 || pointers[i] == nullptr || pointers[j] == nullptr) continue;  // two inputs, or no info
      const Wide first = reinterpret_cast<std::uintptr_t>(pointers[i]),
                 second = reinterpret_cast<std::uintptr_t>(pointers[j]);
      const Wide n_bytes = 4 * static_cast<Wide>(n);
      if (first < second + n_bytes * words[j] && second < first + n_bytes * words[i]) return VDN_STATUS_OVERLAP;
    }
  }
  return VDN_STATUS_SUCCESS;
}

// ---- calls ----------------------------------------------------------------------------------------------------------

// What must be the same after a call.
struct Before {
  std::vector<std::uint32_t> words = arena;
  int device = fake::current_device();
  cudaStreamCaptureMode mode = fake::capture_mode();
  int launches = fake::runtime->launches, calls = fake::runtime->calls;
};

// `decided`: by the arguments alone.
void check_after(const Before& before, vdn_status_t status, vdn_status_t decided) {
  if (seeded_fault() == 1) ++fake::runtime->launches;
  if (seeded_fault() == 2) arena[5] ^= 1;
  const fake::Runtime& runtime = *fake::runtime;
  const std::string name = vdn_status_string(status), message = vdn_last_error_message();
  require(status >= 0 && status <= VDN_STATUS_OUT_OF_MEMORY, "the status is of the enum");
  require(name.rfind("VDN_STATUS_", 0) == 0, "the status has a name");
  require(message.empty() == (status == VDN_STATUS_SUCCESS), "a message on failure, none on success");
  require(message.find('\n') == std::string::npos, "the message is one line");
  if (decided != VDN_STATUS_SUCCESS) {
    require(status == decided, "refused as the header says");
    require(runtime.calls == before.calls, "a refused call reaches no runtime");
  } else {
    require(status != VDN_STATUS_NULL_POINTER && status != VDN_STATUS_OVERLAP, "good arguments are not refused");
  }
  require(arena == before.words, "nothing is written");
  require(fake::last_error() == cudaSuccess, "no error is left behind");
  require(fake::current_device() == before.device, "the current device stays");
  require(fake::capture_mode() == before.mode, "the capture mode stays");
  require(runtime.unsafe_in_capture == 0, "nothing that would end a capture");
}

void call_factors(Bytes& bytes, bool host) {
  fake::Runtime& runtime = *fake::runtime;
  const std::int64_t n = some_n(bytes);
  auto options = some_options(bytes);
  Arrays arrays;
  arrays.A = some_pointer<const float>(bytes);
  arrays.B = some_pointer<const float>(bytes);
  arrays.alpha = some_pointer<const float>(bytes);
  arrays.T = some_pointer<float>(bytes);
  arrays.J = some_pointer<float>(bytes);
  void* const stream = some_pointer<void>(bytes);
  const vdn_delta_options_t read = options ? options->read(kUsual) : kUsual;
  arrays.info = read.info;

  vdn_status_t decided = expected_options(options.get());
  if (decided == VDN_STATUS_SUCCESS) decided = expected_n(n);
  if (decided == VDN_STATUS_SUCCESS && n > 0) decided = expected_arrays(n, arrays);
  // What would compute on the CPU would follow the pointers.
  const int threads = host && decided == VDN_STATUS_SUCCESS && n > 0 ? -1 - static_cast<int>(bytes.below(3)) : 1;
  if (threads < 0) decided = VDN_STATUS_INVALID_ARGUMENT;

  const std::vector<unsigned char> as_given = options ? options->bytes() : std::vector<unsigned char>();
  const Before before;
  const vdn_delta_options_t* const pointer = options ? options->get() : nullptr;
  const vdn_status_t status =
      host ? vdn_delta_factors_host(n, arrays.A, arrays.B, arrays.alpha, arrays.T, arrays.J, pointer, threads)
           : vdn_delta_factors(n, arrays.A, arrays.B, arrays.alpha, arrays.T, arrays.J, pointer, stream);
  check_after(before, status, decided);
  require(!options || options->bytes() == as_given, "options are not written");

  const int launched = runtime.launches - before.launches;
  if (host || n == 0) {
    require(status == decided && launched == 0 && runtime.calls == before.calls, "no GPU is touched");
  } else if (status != VDN_STATUS_SUCCESS) {
    require(launched == 0 || (launched == 1 && runtime.launch != cudaSuccess), "a failure launches nothing");
  } else {
    require(launched == 1, "a success is one launch");
    const Params& params = runtime.params;
    require(params.A == arrays.A && params.B == arrays.B && params.alpha == arrays.alpha && params.T == arrays.T &&
                params.J == arrays.J && params.info == arrays.info && params.n == n,
            "the kernel is given the caller's arrays");
    require(params.a_scale == read.a_scale && params.b_scale == read.b_scale &&
                runtime.shape.programmatic_launch == (read.programmatic_launch == 1) && runtime.stream == stream,
            "the kernel is given the caller's options and stream");
    require(read.variant == VDN_VARIANT_AUTO || runtime.launched == read.variant, "a forced variant is the one");
    const std::int64_t most = n * (runtime.launched == VDN_VARIANT_PAIR ? 2 : 1);
    require(runtime.shape.grid >= 1 && runtime.shape.grid <= most, "the grid holds no idle CTA");
  }
}

int some_device(Bytes& bytes) {
  return bytes.below(4) == 0 ? bytes.take<std::int32_t>() : static_cast<int>(bytes.below(66)) - 1;
}

void call_plan(Bytes& bytes) {
  const std::int64_t n = some_n(bytes);
  const int device = some_device(bytes);
  auto options = some_options(bytes);
  Plan plan(bytes, vdn_delta_plan_t VDN_DELTA_PLAN_INIT);
  const bool null_plan = bytes.below(16) == 1;
  vdn_status_t decided = VDN_STATUS_SUCCESS;
  if (!is_size(plan.size(), sizeof(vdn_delta_plan_t), false)) decided = VDN_STATUS_INVALID_ARGUMENT;
  if (decided == VDN_STATUS_SUCCESS) decided = expected_options(options.get());
  if (decided == VDN_STATUS_SUCCESS) decided = expected_n(n);
  if (decided == VDN_STATUS_SUCCESS && device < -1) decided = VDN_STATUS_INVALID_ARGUMENT;
  if (null_plan) decided = VDN_STATUS_NULL_POINTER;

  const std::vector<unsigned char> as_given = plan.bytes();
  const Before before;
  const vdn_status_t status =
      vdn_delta_plan(n, options ? options->get() : nullptr, device, null_plan ? nullptr : plan.get());
  if (seeded_fault() == 3 && status != VDN_STATUS_SUCCESS) plan.get()->size ^= 1;
  check_after(before, status, decided);
  require(fake::runtime->launches == before.launches, "a plan launches nothing");
  if (status != VDN_STATUS_SUCCESS) {
    require(plan.bytes() == as_given, "a plan is written on success only");
    return;
  }
  vdn_delta_plan_t usual = VDN_DELTA_PLAN_INIT;
  usual.variant = VDN_VARIANT_SINGLE;
  usual.grid = n == 0 ? 0 : 1;
  const vdn_delta_plan_t read = plan.read(usual);
  require(read.size == plan.size(), "the size of a plan stays");
  require(read.variant == VDN_VARIANT_PAIR || read.variant == VDN_VARIANT_SINGLE || read.variant == VDN_VARIANT_COMPACT,
          "a plan names the variant");
  require(n == 0 ? read.grid == 0 : read.grid >= 1, "no CTA for no matrix, one at least for some");
}

void call_prepare(Bytes& bytes) {
  const int device = some_device(bytes);
  const Before before;
  const vdn_status_t status = vdn_delta_prepare(device);
  check_after(before, status, device < -1 ? VDN_STATUS_INVALID_ARGUMENT : VDN_STATUS_SUCCESS);
  require(fake::runtime->launches == before.launches, "preparing launches nothing");
}

// The library keeps what it has learned about a device for the life of the process: what holds must hold with and
// without.
void set_up(fake::Runtime& runtime, Bytes& bytes) {
  fake::runtime = &runtime;
  fake::set_last_error(cudaSuccess);
  cudaSetDevice(static_cast<int>(bytes.below(64)));
  if (bytes.below(4) == 0) runtime.devices = static_cast<int>(bytes.below(65));
  fake::Device& device = runtime.device;
  if (bytes.below(4) == 0) device.capability_major = static_cast<int>(bytes.below(14));
  if (bytes.below(4) == 0) device.capability_minor = static_cast<int>(bytes.below(10));
  if (bytes.below(4) == 0) device.multiprocessors = 1 + static_cast<int>(bytes.below(200));
  if (bytes.below(4) == 0) device.shared_bytes_limit = bytes.take<std::uint16_t>() * 4;
  if (bytes.below(4) == 0) device.kernel.ctas_per_sm = static_cast<int>(bytes.below(4));
  if (bytes.below(4) == 0) device.pair.ctas_per_sm = static_cast<int>(bytes.below(4));
  if (bytes.below(4) == 0) device.pair.clusters = static_cast<int>(bytes.below(100));
  if (bytes.below(4) == 0) runtime.capture = static_cast<cudaStreamCaptureStatus>(bytes.below(3));
  runtime.get_device = some_error(bytes);
  runtime.is_capturing = some_error(bytes);
  runtime.prepare = some_error(bytes);
  runtime.prepare_pair = some_error(bytes);
  runtime.launch = some_error(bytes);
}

}  // namespace
}  // namespace vdn_delta::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace vdn_delta;
  fuzz::Bytes bytes(data, size);
  fake::Runtime runtime;
  fuzz::set_up(runtime, bytes);
  for (int call = 0; call < 8 && !bytes.empty(); ++call) {
    switch (bytes.below(5)) {
      case 0: fuzz::call_plan(bytes); break;
      case 1: fuzz::call_prepare(bytes); break;
      case 2: fuzz::call_factors(bytes, true); break;
      default: fuzz::call_factors(bytes, false); break;
    }
  }
  return 0;
}
