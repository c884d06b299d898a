// SPDX-License-Identifier: Apache-2.0
//
// What needs a process of its own, and no test framework in it: test_process.py runs this program once for each case,
// sets its environment, and looks at its exit code and at what it prints.
//
//     device_process MODE [LIBRARY...]
//
// The program holds the library's static copy; each LIBRARY is loaded beside it. Modes:
//
//   bits          every copy and variant by turns, twice: a line "COPY VARIANT HASH" or "COPY VARIANT STATUS MESSAGE"
//   late          one LIBRARY, programmatic launches behind a predecessor that signals early and writes late
//   threads       eight threads whose first call of all is the same one
//   full          the first call with all memory taken, and again with it freed
//   sticky        calls after a kernel of the caller's has crashed
//   walls         each array flush with an unmapped page, before it or behind it, the inputs mapped for reading only
//   devices, devices-at-once    the first calls of the process on two devices, in turn or from two threads
//   fork          a child that is forked before the first use calls, and so does the parent; a child that is forked
//                 after the first use ends in peace
//   return, exit-in-thread, exit-late    the ways to end
//   unload        three times: load, call, close; then the process's own CUDA still works
//
// Exit codes: 0, 1 for a failure (which is printed), 2 for a mode that is none.
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vdn_delta/vdn_delta.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "host/dispatch.h"
#include "kernels.h"
#include "support/inputs.h"

namespace {

using vdn_delta::host::kDispatch;
using vdn_delta::host::Row;
using vdn_delta::support::Batch;
using vdn_delta::support::kDim;
using vdn_delta::support::kMatrix;

[[noreturn]] void give_up(const std::string& what) {
  std::printf("FAILED: %s\n", what.c_str());
  std::fflush(stdout);
  std::_Exit(1);
}

void need(bool good, const std::string& what) {
  if (!good) give_up(what);
}

void need_cuda(cudaError_t error, const char* what) {
  if (error != cudaSuccess) give_up(std::string(what) + ": " + cudaGetErrorString(error));
}
#define NEED_CUDA(call) need_cuda((call), #call)

// A kernel that hangs must not hang the test.
void set_alarm() { alarm(240); }

struct Copy {
  std::string name;
  void* handle = nullptr;  // null: the static one
  decltype(&vdn_delta_factors) factors = vdn_delta_factors;
  decltype(&vdn_delta_prepare) prepare = vdn_delta_prepare;
  decltype(&vdn_last_error_message) message = vdn_last_error_message;
  decltype(&vdn_status_string) status = vdn_status_string;
};

Copy load(const std::string& path, int scope) {
  Copy copy;
  copy.name = path.substr(path.rfind('/') + 1);
  copy.handle = dlopen(path.c_str(), RTLD_NOW | scope);
  if (copy.handle == nullptr) give_up(dlerror());
  const auto find = [&](const char* name, auto* function) {
    *function = reinterpret_cast<std::remove_reference_t<decltype(*function)>>(dlsym(copy.handle, name));
    need(*function != nullptr, std::string("no ") + name + " in " + path);
  };
  find("vdn_delta_factors", &copy.factors);
  find("vdn_delta_prepare", &copy.prepare);
  find("vdn_last_error_message", &copy.message);
  find("vdn_status_string", &copy.status);
  need(copy.factors != vdn_delta_factors, path + " is not a copy of its own");
  return copy;
}

// The batch that every case computes; matrix 3 breaks at pivot 65.
Batch the_batch(std::uint64_t seed = 211) {
  vdn_delta::support::InputSpec spec;
  spec.n = 7;
  spec.tokens = 64;
  spec.beta_scale = 50;
  spec.seed = seed;
  Batch batch = make_batch(spec);
  vdn_delta::support::break_pivot(batch.A.data() + 3 * kMatrix, 65);
  return batch;
}

struct Arrays {
  explicit Arrays(std::int64_t count) : n(count), is_owner(false) {}  // somebody else's memory
  explicit Arrays(const Batch& batch) : n(batch.n) {
    A = put(batch.A.data(), n * kMatrix);
    B = put(batch.B.data(), n * kMatrix);
    alpha = put(batch.alpha.data(), n * kDim);
    T = put(nullptr, n * kMatrix);
    J = put(nullptr, n * kMatrix);
    info = put(nullptr, n);
    NEED_CUDA(cudaDeviceSynchronize());
  }
  ~Arrays() {
    if (!is_owner) return;
    for (float* array : {A, B, alpha, T, J, info}) cudaFree(array);
  }
  Arrays(const Arrays&) = delete;
  Arrays& operator=(const Arrays&) = delete;

  void poison() const {
    NEED_CUDA(cudaMemset(T, 0xff, static_cast<std::size_t>(n * kMatrix) * 4));
    NEED_CUDA(cudaMemset(J, 0xff, static_cast<std::size_t>(n * kMatrix) * 4));
    NEED_CUDA(cudaMemset(info, 0xff, static_cast<std::size_t>(n) * 4));
    NEED_CUDA(cudaDeviceSynchronize());
  }
  vdn_status_t call(const Copy& copy, vdn_variant_t variant, cudaStream_t stream, bool programmatic = false) const {
    vdn_delta_options_t options = VDN_DELTA_OPTIONS_INIT;
    options.variant = variant;
    options.programmatic_launch = programmatic;
    options.info = reinterpret_cast<std::int32_t*>(info);
    return copy.factors(n, A, B, alpha, T, J, &options, stream);
  }
  // Of T, J and info, which must all have been written.
  std::uint64_t hash() const {
    NEED_CUDA(cudaDeviceSynchronize());
    std::uint64_t value = 0xcbf29ce484222325u;
    const struct {
      const float* data;
      std::int64_t words;
    } outputs[] = {{T, n * kMatrix}, {J, n * kMatrix}, {info, n}};
    for (const auto& output : outputs) {
      std::vector<std::uint32_t> words(static_cast<std::size_t>(output.words));
      NEED_CUDA(cudaMemcpy(words.data(), output.data, words.size() * 4, cudaMemcpyDeviceToHost));
      for (const std::uint32_t word : words) {
        need(word != 0xffffffffu, "an output was not written");
        value = (value ^ word) * 0x100000001b3u;
      }
    }
    return value;
  }

  std::int64_t n;
  bool is_owner = true;
  float *A = nullptr, *B = nullptr, *alpha = nullptr, *T = nullptr, *J = nullptr, *info = nullptr;

 private:
  static float* put(const float* values, std::int64_t words) {
    void* memory = nullptr;
    NEED_CUDA(cudaMalloc(&memory, static_cast<std::size_t>(words) * 4));
    if (values != nullptr)
      NEED_CUDA(cudaMemcpy(memory, values, static_cast<std::size_t>(words) * 4, cudaMemcpyHostToDevice));
    return static_cast<float*>(memory);
  }
};

// The hash of a successful AUTO call of this copy on fresh arrays.
std::uint64_t call_once(const Copy& copy) {
  const Arrays arrays(the_batch());
  arrays.poison();
  const vdn_status_t status = arrays.call(copy, VDN_VARIANT_AUTO, nullptr);
  need(status == VDN_STATUS_SUCCESS, copy.name + ": " + copy.message());
  return arrays.hash();
}

void print_hash(const char* copy, const char* variant, std::uint64_t hash) {
  std::printf("%s %s %016llx\n", copy, variant, static_cast<unsigned long long>(hash));
}

void bits(const std::vector<std::string>& libraries) {
  std::vector<Copy> copies(1);
  copies[0].name = "static";
  for (std::size_t i = 0; i < libraries.size(); ++i)  // every second one with global scope
    copies.push_back(load(libraries[i], i % 2 == 0 ? RTLD_LOCAL : RTLD_GLOBAL));
  for (const Copy& copy : copies)
    for (const Copy& other : copies)
      need(&copy == &other || copy.factors != other.factors, copy.name + " is " + other.name);
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess) {  // a process that sees none
    cudaGetLastError();
    for (const Copy& copy : copies)
      std::printf("%s prepare %s %s\n", copy.name.c_str(), copy.status(copy.prepare(-1)), copy.message());
    return;
  }
  const Arrays arrays(the_batch());
  for (int round = 0; round < 2; ++round) {
    for (const Row& row : kDispatch) {
      for (const Copy& copy : copies) {
        arrays.poison();
        const vdn_status_t status = arrays.call(copy, row.variant, nullptr);
        if (status == VDN_STATUS_SUCCESS) {
          print_hash(copy.name.c_str(), row.name, arrays.hash());
        } else {
          std::printf("%s %s %s %s\n", copy.name.c_str(), row.name, copy.status(status), copy.message());
        }
      }
    }
  }
  need(cudaGetLastError() == cudaSuccess, "an error was left behind");
}

void late(const std::string& library) {
  const Copy copy = load(library, RTLD_LOCAL);
  NEED_CUDA(vdn_delta::test::load_kernels());
  const Batch batches[] = {the_batch(211), the_batch(212)};
  const Arrays arrays(batches[0]), sources[] = {Arrays(batches[0]), Arrays(batches[1])};
  cudaStream_t stream = nullptr;
  NEED_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  for (const Row& row : kDispatch) {
    std::uint64_t expected[2] = {0, 0};
    vdn_status_t status = VDN_STATUS_SUCCESS;
    for (int i = 0; i < 2 && status == VDN_STATUS_SUCCESS; ++i) {
      sources[i].poison();
      status = sources[i].call(copy, row.variant, nullptr);
      if (status == VDN_STATUS_SUCCESS) expected[i] = sources[i].hash();
    }
    if (status != VDN_STATUS_SUCCESS) {
      std::printf("%s %s %s %s\n", copy.name.c_str(), row.name, copy.status(status), copy.message());
      continue;
    }
    for (int round = 0; round < 100; ++round) {
      const int turn = (round + 1) % 2;
      arrays.poison();
      vdn_delta::test::LateWrite write{};
      const float* from[] = {sources[turn].A, sources[turn].B, sources[turn].alpha};
      float* into[] = {arrays.A, arrays.B, arrays.alpha};
      for (write.count = 0; write.count < 3; ++write.count) {
        write.source[write.count] = reinterpret_cast<const std::uint32_t*>(from[write.count]);
        write.target[write.count] = reinterpret_cast<std::uint32_t*>(into[write.count]);
        write.words[write.count] = arrays.n * (write.count < 2 ? kMatrix : kDim);
      }
      write.microseconds = 100;
      write.trigger = true;
      NEED_CUDA(vdn_delta::test::write_late(write, stream));
      need(arrays.call(copy, row.variant, stream, true) == VDN_STATUS_SUCCESS, copy.message());
      need(arrays.hash() == expected[turn],
           std::string(row.name) + ": old inputs were read in round " + std::to_string(round));
    }
    print_hash(copy.name.c_str(), row.name, expected[0]);
  }
}

void threads() {
  constexpr int kThreads = 8;
  const Copy copy;
  const Batch batch = the_batch();
  std::vector<std::thread> all;
  std::uint64_t hashes[kThreads] = {};
  std::atomic<int> ready{0};
  for (int t = 0; t < kThreads; ++t) {
    all.emplace_back([&, t] {
      const Arrays arrays(batch);
      arrays.poison();
      ++ready;
      while (ready < kThreads) {  // so that their first calls are at once
      }
      const vdn_variant_t variant = t % 2 == 0 ? VDN_VARIANT_AUTO : kDispatch[0].variant;
      const vdn_status_t status = arrays.call(copy, variant, cudaStreamPerThread);
      need(status == VDN_STATUS_SUCCESS, copy.message());
      hashes[t] = arrays.hash();
    });
  }
  for (std::thread& thread : all) thread.join();
  for (const std::uint64_t hash : hashes) print_hash("static", "auto", hash);
}

void full() {
  const Copy copy;
  const Arrays arrays(the_batch());
  arrays.poison();
  std::vector<void*> blocks;
  for (std::size_t bytes = std::size_t{1} << 37; bytes >= 4096; bytes /= 2) {
    void* memory = nullptr;
    while (cudaMalloc(&memory, bytes) == cudaSuccess) blocks.push_back(memory);
    cudaGetLastError();
  }
  // There may or may not be room for the code. If not, it is called by its name, and nothing is left behind.
  const vdn_status_t first = arrays.call(copy, VDN_VARIANT_AUTO, nullptr);
  const std::string message = copy.message();
  need(first == VDN_STATUS_SUCCESS || first == VDN_STATUS_OUT_OF_MEMORY,
       std::string(vdn_status_string(first)) + ": " + message);
  need((first == VDN_STATUS_SUCCESS) == message.empty(), "a message that does not fit: " + message);
  need(cudaGetLastError() == cudaSuccess, "an error was left behind");
  if (first == VDN_STATUS_SUCCESS) print_hash("static", "auto", arrays.hash());
  for (void* block : blocks) NEED_CUDA(cudaFree(block));
  arrays.poison();
  const vdn_status_t second = arrays.call(copy, VDN_VARIANT_AUTO, nullptr);
  need(second == VDN_STATUS_SUCCESS, copy.message());
  print_hash("static", "auto", arrays.hash());
}

void sticky(bool is_prepared) {
  const Copy copy;
  const Arrays arrays(the_batch());
  if (is_prepared) print_hash("static", "auto", call_once(copy));
  NEED_CUDA(vdn_delta::test::crash(nullptr));
  need(cudaDeviceSynchronize() != cudaSuccess, "the kernel did not crash");
  for (int round = 0; round < 2; ++round) {
    const vdn_status_t status = arrays.call(copy, VDN_VARIANT_AUTO, nullptr);
    need(status == VDN_STATUS_CUDA_ERROR, std::string("called ") + vdn_status_string(status));
    need(std::strstr(copy.message(), "cudaError") != nullptr, std::string("the cause is not told: ") + copy.message());
  }
  // What needs no GPU still works.
  need(vdn_delta_factors(0, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr) == VDN_STATUS_SUCCESS,
       "n = 0");
  const Batch batch = the_batch();
  std::vector<float> T(batch.A.size()), J(batch.A.size());
  need(vdn_delta_factors_host(batch.n, batch.A.data(), batch.B.data(), batch.alpha.data(), T.data(), J.data(), nullptr,
                              1) == VDN_STATUS_SUCCESS,
       "the CPU path");
}

template <class Function>
Function driver(const char* name) {
  void* address = nullptr;
  cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
  NEED_CUDA(cudaGetDriverEntryPointByVersion(name, &address, CUDA_VERSION, cudaEnableDefault, &result));
  need(address != nullptr, std::string("the driver has no ") + name);
  return reinterpret_cast<Function>(address);
}
#define DRIVER(function) driver<decltype(&function)>(#function)

// Memory with nothing mapped before it and behind it. `at_end`: flush with what is behind it, or with what is before.
// It is never given back: the process ends.
class Walled {
 public:
  Walled(std::int64_t words, bool at_end) {
    NEED_CUDA(cudaFree(nullptr));  // a context
    NEED_CUDA(cudaGetDevice(&properties_.location.id));
    properties_.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties_.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    std::size_t page = 0;
    good(DRIVER(cuMemGetAllocationGranularity)(&page, &properties_, CU_MEM_ALLOC_GRANULARITY_MINIMUM), "granularity");
    const auto bytes = static_cast<std::size_t>(words) * 4;
    bytes_ = (bytes + page - 1) / page * page;
    CUdeviceptr reserved = 0;
    good(DRIVER(cuMemAddressReserve)(&reserved, bytes_ + 2 * page, 0, 0, 0), "an address");
    address_ = reserved + page;
    CUmemGenericAllocationHandle handle{};
    good(DRIVER(cuMemCreate)(&handle, bytes_, &properties_, 0), "memory");
    good(DRIVER(cuMemMap)(address_, bytes_, 0, handle, 0), "a mapping");
    allow(CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    data = reinterpret_cast<float*>(address_ + (at_end ? bytes_ - bytes : 0));
  }
  // Whether the driver can do that.
  bool make_read_only() { return set(CU_MEM_ACCESS_FLAGS_PROT_READ) == CUDA_SUCCESS; }

  float* data = nullptr;

 private:
  static void good(CUresult result, const char* what) {
    need(result == CUDA_SUCCESS, std::string("no ") + what + ": " + std::to_string(static_cast<int>(result)));
  }
  CUresult set(CUmemAccess_flags flags) {
    CUmemAccessDesc access{};
    access.location = properties_.location;
    access.flags = flags;
    return DRIVER(cuMemSetAccess)(address_, bytes_, &access, 1);
  }
  void allow(CUmemAccess_flags flags) { good(set(flags), "access"); }

  CUmemAllocationProp properties_{};
  CUdeviceptr address_ = 0;
  std::size_t bytes_ = 0;
};

void walls() {
  const Copy copy;
  const Batch batch = the_batch();
  print_hash("static", "auto", call_once(copy));
  for (const bool at_end : {true, false}) {
    Walled A(batch.n * kMatrix, at_end), B(batch.n * kMatrix, at_end), alpha(batch.n * kDim, at_end);
    Walled T(batch.n * kMatrix, at_end), J(batch.n * kMatrix, at_end), info(batch.n, at_end);
    NEED_CUDA(cudaMemcpy(A.data, batch.A.data(), batch.A.size() * 4, cudaMemcpyHostToDevice));
    NEED_CUDA(cudaMemcpy(B.data, batch.B.data(), batch.B.size() * 4, cudaMemcpyHostToDevice));
    NEED_CUDA(cudaMemcpy(alpha.data, batch.alpha.data(), batch.alpha.size() * 4, cudaMemcpyHostToDevice));
    NEED_CUDA(cudaDeviceSynchronize());
    bool is_read_only = true;
    for (Walled* input : {&A, &B, &alpha}) is_read_only = input->make_read_only() && is_read_only;
    if (!is_read_only) std::printf("note: this driver maps nothing for reading only\n");
    Arrays arrays(batch.n);
    arrays.A = A.data;
    arrays.B = B.data;
    arrays.alpha = alpha.data;
    arrays.T = T.data;
    arrays.J = J.data;
    arrays.info = info.data;
    for (const Row& row : kDispatch) {
      arrays.poison();
      const vdn_status_t status = arrays.call(copy, row.variant, nullptr);
      if (status == VDN_STATUS_UNSUPPORTED) continue;
      need(status == VDN_STATUS_SUCCESS, copy.message());
      print_hash("static", row.name, arrays.hash());
    }
  }
}

// The first calls of the process on two devices.
void devices(bool at_once) {
  int count = 0;
  NEED_CUDA(cudaGetDeviceCount(&count));
  if (count < 2) {
    std::printf("note: one device only\n");
    return;
  }
  const auto work = [](int device) {
    NEED_CUDA(cudaSetDevice(device));
    const std::uint64_t hash = call_once(Copy());
    int current = -1;
    NEED_CUDA(cudaGetDevice(&current));
    need(current == device, "the current device is another one");
    print_hash("static", "auto", hash);
  };
  if (at_once) {
    std::thread other(work, 1);
    work(0);
    other.join();
  } else {
    for (const int device : {0, 1, 0}) work(device);
  }
}

// Runs `work` in a child; its exit code.
template <class Work>
int in_child(const Work& work) {
  std::fflush(nullptr);
  const pid_t child = fork();
  need(child >= 0, "fork");
  if (child == 0) {
    set_alarm();
    work();
    std::fflush(nullptr);
    std::exit(0);
  }
  int status = 0;
  need(waitpid(child, &status, 0) == child, "waitpid");
  return WIFEXITED(status) ? WEXITSTATUS(status) : 256 + WTERMSIG(status);
}

void fork_modes() {
  // Before CUDA is touched. The library is there, loaded and linked, and has been asked what needs no GPU.
  const Copy copy;
  need(vdn_delta_factors(0, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr) == VDN_STATUS_SUCCESS,
       "n = 0");
  need(in_child([&] { print_hash("static", "auto", call_once(copy)); }) == 0, "a child before the first use");
  print_hash("static", "auto", call_once(copy));
  // CUDA does not survive a fork: the child gets an answer, not a crash nor a hang, and leaves quietly.
  const int code = in_child([&] {
    const Batch batch = the_batch();
    float* const nowhere = reinterpret_cast<float*>(std::uintptr_t{1} << 40);
    float* const beyond = nowhere + 100 * kMatrix;
    const vdn_status_t status =
        vdn_delta_factors(1, nowhere, nowhere, nowhere, beyond, beyond + kMatrix, nullptr, nullptr);
    need(status != VDN_STATUS_SUCCESS, "a call in a child after the first use says that it succeeded");
    std::vector<float> T(batch.A.size()), J(batch.A.size());
    need(vdn_delta_factors_host(batch.n, batch.A.data(), batch.B.data(), batch.alpha.data(), T.data(), J.data(),
                                nullptr, 2) == VDN_STATUS_SUCCESS,
         "the CPU path in a child");
  });
  need(code == 0, "a child after the first use: " + std::to_string(code));
  print_hash("static", "auto", call_once(copy));
}

// Called when static objects go, when the driver may be gone already: any answer will do, a crash or a word will not.
struct AtTheEnd {
  const Arrays* arrays = nullptr;
  ~AtTheEnd() {
    if (arrays == nullptr) return;
    const Copy copy;
    (void)arrays->call(copy, VDN_VARIANT_AUTO, nullptr);
    (void)vdn_delta_prepare(-1);
    (void)vdn_last_error_message();
  }
} at_the_end;

void unload(const std::string& library) {
  const Arrays own(the_batch());
  for (int round = 0; round < 3; ++round) {
    const Copy copy = load(library, RTLD_NOW);
    print_hash(copy.name.c_str(), "auto", call_once(copy));
    need(dlclose(copy.handle) == 0, "dlclose");
    own.poison();  // the process's own CUDA
  }
  const Copy copy;
  print_hash("static", "auto", call_once(copy));
}

}  // namespace

int main(int argc, char** argv) {
  set_alarm();
  const std::string mode = argc > 1 ? argv[1] : "";
  const std::vector<std::string> libraries(argv + std::min(argc, 2), argv + argc);
  if (mode == "bits") {
    bits(libraries);
  } else if (mode == "late" && libraries.size() == 1) {
    late(libraries[0]);
  } else if (mode == "threads") {
    threads();
  } else if (mode == "full") {
    full();
  } else if (mode == "sticky" || mode == "sticky-first") {
    sticky(mode == "sticky");
  } else if (mode == "walls") {
    walls();
  } else if (mode == "devices" || mode == "devices-at-once") {
    devices(mode == "devices-at-once");
  } else if (mode == "fork") {
    fork_modes();
  } else if (mode == "return") {
    print_hash("static", "auto", call_once(Copy()));
  } else if (mode == "exit-in-thread") {
    std::thread([] {
      print_hash("static", "auto", call_once(Copy()));
      std::exit(0);
    }).join();
  } else if (mode == "exit-late") {
    at_the_end.arrays = new Arrays(the_batch());
    print_hash("static", "auto", call_once(Copy()));
  } else if (mode == "unload" && libraries.size() == 1) {
    unload(libraries[0]);
  } else {
    std::fprintf(stderr, "usage: see process.cpp\n");
    return 2;
  }
  return 0;
}
