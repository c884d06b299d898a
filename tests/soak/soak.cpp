// SPDX-License-Identifier: Apache-2.0
//
// The soak: calls of random size, variant, stream, alignment, scales and options for a given time, every word of which
// is checked.
//
//     soak [--seconds S] [--seed N] [--json FILE] [--most N]
//
// A pool of a few dozen matrices, good and bad, is computed once by the first variant for a few pairs of scales, and
// held to the fp64 oracle. From then on each call is a random selection of the pool in random order, whose bits are
// thus known: the device compares all outputs, and inputs and guard bands with what they were; now and then a matrix is
// copied back and held to fp64 again. Ends with 1 after a mismatch, 77 without a GPU, 3 if the GPU hangs.
#include <cuda_runtime_api.h>
#include <vdn_delta/vdn_delta.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "host/dispatch.h"
#include "soak_kernels.h"
#include "support/inputs.h"
#include "support/oracle.h"

namespace {

using namespace vdn_delta::support;
using vdn_delta::host::kDispatch;
using vdn_delta::host::Row;
namespace soak = vdn_delta::soak;
using Clock = std::chrono::steady_clock;

struct Settings {
  double seconds = 60;
  std::uint64_t seed = 1;
  std::int64_t most = 2000;
  std::string json;
};

// What the watchdog prints if nothing ends any more: the parameters of the last call.
char last_call[400] = "none";
std::atomic<Clock::rep> last_progress{0};

void need_cuda(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::printf("FAILED: %s: %s (%s); last call: %s\n", what, cudaGetErrorString(error), cudaGetErrorName(error),
              last_call);
  std::exit(1);
}
#define NEED_CUDA(call) need_cuda((call), #call)

template <class T>
T* device_array(std::int64_t words) {
  void* memory = nullptr;
  NEED_CUDA(cudaMalloc(&memory, static_cast<std::size_t>(words) * sizeof(T)));
  return static_cast<T*>(memory);
}

template <class T>
T* device_copy(const std::vector<T>& values) {
  T* memory = device_array<T>(static_cast<std::int64_t>(values.size()));
  NEED_CUDA(cudaMemcpy(memory, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
  return memory;
}

struct Scales {
  float a, b;
};
constexpr Scales kScales[] = {{1, 1}, {0.25f, 1}, {1, 3}, {1.0f / 1008, 0.7f}};
constexpr int kScalePairs = sizeof kScales / sizeof kScales[0];
constexpr std::int64_t kPool = 48;
constexpr std::int64_t kGood = 42;  // of them, the first ones

// kGood matrices of all kinds, then bad ones.
Batch make_pool(std::uint64_t seed, std::vector<std::int32_t>* orders) {
  Batch pool = make_identity(kPool);
  for (std::int64_t m = 0; m < kPool; ++m) {
    InputSpec spec;
    spec.seed = seed * 1000 + static_cast<std::uint64_t>(m);
    spec.family = m % 3 == 1 ? Family::kNormal : Family::kSilu;
    spec.tokens = m % 4 == 0 ? 1008 : 16 << m % 4;
    spec.beta_scale = m % 5 == 0 ? 1 : 50;
    const Batch one = make_batch(spec);
    std::copy(one.A.begin(), one.A.end(), pool.A.begin() + m * kMatrix);
    std::copy(one.B.begin(), one.B.end(), pool.B.begin() + m * kMatrix);
    Random random(seed, 1 + static_cast<std::uint64_t>(m));
    for (int i = 0; i < kDim; ++i)
      pool.alpha[static_cast<std::size_t>(m * kDim + i)] = static_cast<float>(0.1 + 0.9 * random.uniform());
    if (m >= 36 && m < 40) set_psd(pool.A.data() + m * kMatrix, std::pow(10.0, static_cast<double>(m - 37)), &random);
    if (m == 40) set_diagonal(pool.A.data() + m * kMatrix, 0.0f);
    if (m == 41) set_graded(pool.A.data() + m * kMatrix, 1e-6, 1e6);
  }
  orders->assign(kPool, 0);
  const int bad[] = {1, 8, 9, 65, 127, 128};
  static_assert(kGood + sizeof bad / sizeof bad[0] == kPool);
  for (std::int64_t m = kGood; m < kPool; ++m) {
    (*orders)[static_cast<std::size_t>(m)] = bad[m - kGood];
    // Far enough below zero for every scale.
    float& entry = pool.A[static_cast<std::size_t>(m * kMatrix + (bad[m - kGood] - 1) * (kDim + 1))];
    entry = -1e6f - std::fabs(entry);
  }
  return pool;
}

// Whether matrix m of T and J is within ten times the error of plain fp32, by fp64.
struct Oracle {
  Oracle(const Batch& pool, Scales scales) : reference(reference_of(pool, scales.a, scales.b)), bar(kPool) {
    Batch scaled = pool;  // the chain knows no scales
    for (float& x : scaled.A) x *= scales.a;
    for (float& x : scaled.B) x *= scales.b;
    for (std::int64_t m = 0; m < kGood; ++m) {
      const Batch one = slice(scaled, m, 1);
      const Errors errors = chain_errors(one, reference_of(one));
      bar[static_cast<std::size_t>(m)] = 10 * std::max(errors.err_T, errors.err_J) + 1e-6;
    }
  }
  bool accepts(std::int64_t m, const float* T, const float* J) const {
    Reference one;
    one.T.assign(reference.T.begin() + m * kMatrix, reference.T.begin() + (m + 1) * kMatrix);
    one.J.assign(reference.J.begin() + m * kMatrix, reference.J.begin() + (m + 1) * kMatrix);
    const Errors errors = compare(1, T, J, one);
    return errors.err_T <= bar[static_cast<std::size_t>(m)] && errors.err_J <= bar[static_cast<std::size_t>(m)];
  }
  Reference reference;
  std::vector<double> bar;
};

struct Known {  // on the device: what the pool gives under one pair of scales
  std::uint32_t *T, *J, *info;
};

struct Way {  // a variant, or AUTO
  std::string name;
  vdn_variant_t variant;
};

struct Totals {
  std::int64_t calls = 0, matrices = 0, oracle_checked = 0, mismatches = 0;
};

// A place for one call at a time, with a stream of its own.
struct Slot {
  const char* name = "";
  cudaStream_t stream = nullptr;
  bool can_capture = true;
  std::uint32_t* base[soak::kArrays] = {};
  std::int32_t* order = nullptr;
  std::int32_t* host_order = nullptr;        // pinned
  unsigned long long* wrong = nullptr;       // device, [kArrays]
  unsigned long long* host_wrong = nullptr;  // pinned
  bool busy = false;
  std::string what;  // the parameters of the call in flight
  soak::Arrays arrays = {};
  int scales = 0;
};

constexpr const char* kNames[] = {"A", "B", "alpha", "T", "J", "info"};
constexpr int kPerMatrix[] = {kMatrix, kMatrix, kDim, kMatrix, kMatrix, 1};
constexpr std::int64_t kBand = 1024;

class Soak {
 public:
  explicit Soak(const Settings& settings) : settings_(settings), random_(settings.seed) {
    NEED_CUDA(soak::load());
    for (const Row& row : kDispatch) {
      vdn_delta_options_t options = VDN_DELTA_OPTIONS_INIT;
      options.variant = row.variant;
      vdn_delta_plan_t plan = VDN_DELTA_PLAN_INIT;
      if (vdn_delta_plan(VDN_DELTA_MAX_N, &options, -1, &plan) != VDN_STATUS_SUCCESS) continue;
      ways_.push_back({row.name, row.variant});
      for (std::int64_t wave = 1; wave <= 3; ++wave)
        for (const std::int64_t off : {-1, 0, 1}) edges_.push_back(wave * plan.grid / plan.cluster + off);
    }
    if (ways_.empty()) {
      std::printf("skipped: %s\n", vdn_last_error_message());
      std::exit(77);
    }
    ways_.push_back({"auto", VDN_VARIANT_AUTO});
    edges_.insert(edges_.end(), {1, 1, 2, 3, 7, settings.most});
    make_known();
    make_slots();
    prove_that_it_notices();
  }

  bool run() {
    const auto start = Clock::now();
    const std::chrono::duration<double> limit(settings_.seconds);
    double said = 0;
    for (std::size_t turn = 0; Clock::now() - start < limit; turn = (turn + 1) % slots_.size()) {
      take(slots_[turn]);
      enqueue(slots_[turn]);
      const double spent = std::chrono::duration<double>(Clock::now() - start).count();
      if (spent - said >= 30) {
        said = spent;
        std::printf("  %.0f s: %lld calls, %lld mismatches\n", spent, static_cast<long long>(totals_.calls),
                    static_cast<long long>(totals_.mismatches));
        std::fflush(stdout);
      }
    }
    for (Slot& slot : slots_) take(slot);
    NEED_CUDA(cudaDeviceSynchronize());
    NEED_CUDA(cudaGetLastError());
    spent_ = std::chrono::duration<double>(Clock::now() - start).count();
    std::printf("seed %llu: %lld calls, %lld matrices, %lld held to fp64, %lld mismatches, %.1f s\n",
                static_cast<unsigned long long>(settings_.seed), static_cast<long long>(totals_.calls),
                static_cast<long long>(totals_.matrices), static_cast<long long>(totals_.oracle_checked),
                static_cast<long long>(totals_.mismatches), spent_);
    if (totals_.calls == 0) std::printf("FAILED: not one call\n");
    return totals_.mismatches == 0 && totals_.calls > 0;
  }

  bool write_json() const {
    if (settings_.json.empty()) return true;
    std::FILE* file = std::fopen(settings_.json.c_str(), "w");
    if (file == nullptr) {
      std::printf("FAILED: cannot write %s\n", settings_.json.c_str());
      return false;
    }
    std::fprintf(file,
                 "{\"seed\": %llu, \"seconds\": %.1f, \"calls\": %lld, \"matrices\": %lld, \"oracle_checked\": %lld, "
                 "\"mismatches\": %lld}\n",
                 static_cast<unsigned long long>(settings_.seed), spent_, static_cast<long long>(totals_.calls),
                 static_cast<long long>(totals_.matrices), static_cast<long long>(totals_.oracle_checked),
                 static_cast<long long>(totals_.mismatches));
    return std::fclose(file) == 0;
  }

 private:
  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(random_.bits() % static_cast<std::uint64_t>(n));
  }

  void mismatch(const std::string& what) {
    if (totals_.mismatches++ < 20)
      std::printf("MISMATCH seed %llu: %s\n", static_cast<unsigned long long>(settings_.seed), what.c_str());
    std::fflush(stdout);
  }

  // The pool under each pair of scales, by one call of the first variant, held to fp64.
  void make_known() {
    std::vector<std::int32_t> orders;
    const Batch pool = make_pool(settings_.seed, &orders);
    float* const A = device_copy(pool.A);
    float* const B = device_copy(pool.B);
    float* const alpha = device_copy(pool.alpha);
    pool_[0] = reinterpret_cast<std::uint32_t*>(A);
    pool_[1] = reinterpret_cast<std::uint32_t*>(B);
    pool_[2] = reinterpret_cast<std::uint32_t*>(alpha);
    for (int s = 0; s < kScalePairs; ++s) {
      oracles_.push_back(std::make_unique<Oracle>(pool, kScales[s]));
      Known known{device_array<std::uint32_t>(kPool * kMatrix), device_array<std::uint32_t>(kPool * kMatrix),
                  device_array<std::uint32_t>(kPool)};
      vdn_delta_options_t options = VDN_DELTA_OPTIONS_INIT;
      options.variant = ways_.front().variant;
      options.a_scale = kScales[s].a;
      options.b_scale = kScales[s].b;
      options.info = reinterpret_cast<std::int32_t*>(known.info);
      auto* const T = reinterpret_cast<float*>(known.T);
      auto* const J = reinterpret_cast<float*>(known.J);
      const vdn_status_t status = vdn_delta_factors(kPool, A, B, alpha, T, J, &options, nullptr);
      if (status != VDN_STATUS_SUCCESS) mismatch(std::string("the pool: ") + vdn_last_error_message());
      std::vector<float> host_T(static_cast<std::size_t>(kPool * kMatrix)), host_J(host_T.size());
      std::vector<std::int32_t> host_info(kPool);
      NEED_CUDA(cudaMemcpy(host_T.data(), T, host_T.size() * 4, cudaMemcpyDeviceToHost));
      NEED_CUDA(cudaMemcpy(host_J.data(), J, host_J.size() * 4, cudaMemcpyDeviceToHost));
      NEED_CUDA(cudaMemcpy(host_info.data(), known.info, host_info.size() * 4, cudaMemcpyDeviceToHost));
      for (std::int64_t m = 0; m < kPool; ++m) {
        const auto i = static_cast<std::size_t>(m);
        const std::string what = "matrix " + std::to_string(m) + " of the pool, scales " + std::to_string(s);
        if (host_info[i] != orders[i]) mismatch(what + ": info is " + std::to_string(host_info[i]));
        if (orders[i] != 0) continue;
        ++totals_.oracle_checked;
        if (!oracles_.back()->accepts(m, host_T.data() + m * kMatrix, host_J.data() + m * kMatrix))
          mismatch(what + ": not within ten times the error of plain fp32");
      }
      known_.push_back(known);
    }
  }

  void make_slots() {
    const char* names[] = {"a non-blocking stream", "a blocking stream", "the legacy stream", "the per-thread stream"};
    slots_.resize(4);
    for (int i = 0; i < 4; ++i) {
      Slot& slot = slots_[static_cast<std::size_t>(i)];
      slot.name = names[i];
      if (i == 0) NEED_CUDA(cudaStreamCreateWithFlags(&slot.stream, cudaStreamNonBlocking));
      if (i == 1) NEED_CUDA(cudaStreamCreateWithFlags(&slot.stream, cudaStreamDefault));
      if (i == 3) slot.stream = cudaStreamPerThread;
      // While a blocking stream is captured, the legacy one cannot be used, and other slots may be at it.
      slot.can_capture = i == 0;
      for (int a = 0; a < soak::kArrays; ++a)
        slot.base[a] = device_array<std::uint32_t>(settings_.most * kPerMatrix[a] + 2 * kBand + 4);
      slot.order = device_array<std::int32_t>(settings_.most);
      slot.wrong = device_array<unsigned long long>(soak::kArrays);
      NEED_CUDA(
          cudaMallocHost(reinterpret_cast<void**>(&slot.host_order), static_cast<std::size_t>(settings_.most) * 4));
      NEED_CUDA(cudaMallocHost(reinterpret_cast<void**>(&slot.host_wrong), sizeof(unsigned long long) * soak::kArrays));
    }
  }

  // The check itself: what nobody has written is seen in every array, and so is one word in a guard band.
  void prove_that_it_notices() {
    Slot& slot = slots_[0];
    const std::uint32_t* pools[] = {pool_[0], pool_[1], pool_[2], known_[0].T, known_[0].J, known_[0].info};
    constexpr std::int64_t n = 3;
    slot.arrays.order = slot.order;
    slot.arrays.n = n;
    NEED_CUDA(cudaMemset(slot.order, 0, n * 4));  // three times matrix 0
    for (int a = 0; a < soak::kArrays; ++a) {
      slot.arrays.array[a] = {slot.base[a], pools[a], kBand + 1, 2 * kBand + 4 + n * kPerMatrix[a], kPerMatrix[a]};
      NEED_CUDA(cudaMemset(slot.base[a], 0xff, static_cast<std::size_t>(slot.arrays.array[a].used) * 4));
    }
    const auto count = [&](int a) {
      NEED_CUDA(cudaMemset(slot.wrong, 0, sizeof(unsigned long long) * soak::kArrays));
      NEED_CUDA(soak::check(slot.arrays, slot.wrong, nullptr));
      NEED_CUDA(
          cudaMemcpy(slot.host_wrong, slot.wrong, sizeof(unsigned long long) * soak::kArrays, cudaMemcpyDeviceToHost));
      return static_cast<std::int64_t>(slot.host_wrong[a]);
    };
    for (int a = 0; a < soak::kArrays; ++a)
      if (count(a) != n * kPerMatrix[a]) mismatch(std::string("the check does not see all of ") + kNames[a]);
    NEED_CUDA(soak::fill(slot.arrays, false, nullptr));
    for (int a = 0; a < soak::kInputs; ++a) {
      if (count(a) != 0) mismatch(std::string("the check does not accept ") + kNames[a]);
      NEED_CUDA(cudaMemset(slot.base[a] + kBand, 0, 4));
      if (count(a) != 1) mismatch(std::string("the check does not see the word before ") + kNames[a]);
    }
    NEED_CUDA(cudaDeviceSynchronize());
  }

  // Waits for the slot's call and judges it.
  void take(Slot& slot) {
    if (!slot.busy) return;
    NEED_CUDA(cudaStreamSynchronize(slot.stream));
    last_progress = Clock::now().time_since_epoch().count();
    slot.busy = false;
    for (int a = 0; a < soak::kArrays; ++a) {
      if (slot.host_wrong[a] != 0)
        mismatch(std::to_string(slot.host_wrong[a]) + " words of or around " + kNames[a] + "; " + slot.what);
    }
    if (totals_.calls % 50 != 0) return;
    // One matrix of it as the host sees it.
    const std::int64_t m = below(slot.arrays.n), which = slot.host_order[m];
    if (which >= kGood) return;
    std::vector<float> T(kMatrix), J(kMatrix);
    const auto get = [&](int a, std::vector<float>* values) {
      const soak::Array& array = slot.arrays.array[a];
      NEED_CUDA(
          cudaMemcpy(values->data(), array.base + array.before + m * kMatrix, kMatrix * 4, cudaMemcpyDeviceToHost));
    };
    get(3, &T);
    get(4, &J);
    ++totals_.oracle_checked;
    if (!oracles_[static_cast<std::size_t>(slot.scales)]->accepts(which, T.data(), J.data()))
      mismatch("matrix " + std::to_string(m) + " against fp64; " + slot.what);
  }

  void enqueue(Slot& slot) {
    const Way& way = ways_[static_cast<std::size_t>(below(static_cast<std::int64_t>(ways_.size())))];
    // A third at the edges, a third small, a third of any size.
    const std::int64_t kind = below(3);
    std::int64_t n = kind == 0   ? edges_[static_cast<std::size_t>(below(static_cast<std::int64_t>(edges_.size())))]
                     : kind == 1 ? 1 + below(std::min<std::int64_t>(settings_.most, 140))
                                 : 1 + below(settings_.most);
    n = std::max<std::int64_t>(1, std::min(n, settings_.most));
    const bool with_bad = below(2) == 0, with_info = below(3) != 0, programmatic = below(3) == 0;
    const bool captured = slot.can_capture && below(8) == 0;
    slot.scales = static_cast<int>(below(kScalePairs));
    const Known& known = known_[static_cast<std::size_t>(slot.scales)];
    for (std::int64_t m = 0; m < n; ++m)
      slot.host_order[m] = static_cast<std::int32_t>(below(with_bad && below(4) == 0 ? kPool : kGood));

    const std::uint32_t* pools[] = {pool_[0], pool_[1], pool_[2], known.T, known.J, with_info ? known.info : nullptr};
    std::string offsets;
    slot.arrays.order = slot.order;
    slot.arrays.n = n;
    for (int a = 0; a < soak::kArrays; ++a) {
      // Half of them aligned.
      const std::int64_t offset = below(2) == 0 ? 0 : below(4);
      offsets += std::to_string(offset);
      slot.arrays.array[a] = {slot.base[a], pools[a], kBand + offset, 2 * kBand + 4 + n * kPerMatrix[a], kPerMatrix[a]};
    }
    std::snprintf(last_call, sizeof last_call,
                  "call %lld n=%lld variant=%s stream=%s offsets(A,B,alpha,T,J,info)=%s scales=%d info=%d bad=%d "
                  "programmatic=%d captured=%d",
                  static_cast<long long>(totals_.calls), static_cast<long long>(n), way.name.c_str(), slot.name,
                  offsets.c_str(), slot.scales, with_info, with_bad, programmatic, captured);
    slot.what = last_call;

    NEED_CUDA(cudaMemcpyAsync(slot.order, slot.host_order, static_cast<std::size_t>(n) * 4, cudaMemcpyHostToDevice,
                              slot.stream));
    NEED_CUDA(cudaMemsetAsync(slot.wrong, 0, sizeof(unsigned long long) * soak::kArrays, slot.stream));
    for (int a = soak::kInputs; a < soak::kArrays; ++a)
      NEED_CUDA(
          cudaMemsetAsync(slot.base[a], 0xff, static_cast<std::size_t>(slot.arrays.array[a].used) * 4, slot.stream));

    vdn_delta_options_t options = VDN_DELTA_OPTIONS_INIT;
    options.variant = way.variant;
    options.programmatic_launch = programmatic;
    options.a_scale = kScales[slot.scales].a;
    options.b_scale = kScales[slot.scales].b;
    const auto at = [&](int a) { return slot.base[a] + slot.arrays.array[a].before; };
    if (with_info) options.info = reinterpret_cast<std::int32_t*>(at(5));
    if (captured) NEED_CUDA(cudaStreamBeginCapture(slot.stream, cudaStreamCaptureModeThreadLocal));
    const cudaError_t filled = soak::fill(slot.arrays, programmatic, slot.stream);
    const vdn_status_t status = vdn_delta_factors(n, reinterpret_cast<float*>(at(0)), reinterpret_cast<float*>(at(1)),
                                                  reinterpret_cast<float*>(at(2)), reinterpret_cast<float*>(at(3)),
                                                  reinterpret_cast<float*>(at(4)), &options, slot.stream);
    if (status != VDN_STATUS_SUCCESS) mismatch(std::string(vdn_last_error_message()) + "; " + slot.what);
    if (captured) {
      cudaGraph_t graph = nullptr;
      cudaGraphExec_t executable = nullptr;
      NEED_CUDA(cudaStreamEndCapture(slot.stream, &graph));
      NEED_CUDA(cudaGraphInstantiate(&executable, graph, 0));
      NEED_CUDA(cudaGraphLaunch(executable, slot.stream));
      NEED_CUDA(cudaGraphExecDestroy(executable));  // once it has run
      NEED_CUDA(cudaGraphDestroy(graph));
    }
    NEED_CUDA(filled);
    NEED_CUDA(soak::check(slot.arrays, slot.wrong, slot.stream));
    NEED_CUDA(cudaMemcpyAsync(slot.host_wrong, slot.wrong, sizeof(unsigned long long) * soak::kArrays,
                              cudaMemcpyDeviceToHost, slot.stream));
    slot.busy = true;
    ++totals_.calls;
    totals_.matrices += n;
  }

  Settings settings_;
  Random random_;
  std::vector<Way> ways_;
  std::vector<std::int64_t> edges_;
  std::uint32_t* pool_[soak::kInputs] = {};
  std::vector<std::unique_ptr<Oracle>> oracles_;
  std::vector<Known> known_;
  std::vector<Slot> slots_;
  Totals totals_;
  double spent_ = 0;
};

// A kernel that hangs cannot be stopped in another way.
void watch() {
  for (;;) {
    std::this_thread::sleep_for(std::chrono::seconds(1));
    const Clock::time_point since{Clock::duration(last_progress.load())};
    if (Clock::now() - since < std::chrono::seconds(60)) continue;
    std::printf("HANG: no end within 60 s; last call enqueued: %s\n", last_call);
    std::fflush(stdout);
    std::_Exit(3);
  }
}

bool read_settings(int argc, char** argv, Settings* settings) {
  for (int i = 1; i < argc; i += 2) {
    const std::string name = argv[i];
    if (i + 1 >= argc) return false;
    const char* value = argv[i + 1];
    char* end = nullptr;
    if (name == "--seconds") {
      settings->seconds = std::strtod(value, &end);
    } else if (name == "--seed") {
      settings->seed = std::strtoull(value, &end, 10);
    } else if (name == "--most") {
      settings->most = std::strtoll(value, &end, 10);
    } else if (name == "--json") {
      settings->json = value;
      continue;
    } else {
      return false;
    }
    if (end == value || *end != '\0') return false;
  }
  return settings->seconds > 0 && settings->most >= kPool;
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  if (!read_settings(argc, argv, &settings)) {
    std::fprintf(stderr, "usage: soak [--seconds S] [--seed N] [--json FILE] [--most N]   (N >= %lld)\n",
                 static_cast<long long>(kPool));
    return 2;
  }
  int devices = 0;
  const cudaError_t error = cudaGetDeviceCount(&devices);
  if (error != cudaSuccess || devices == 0) {
    std::printf("skipped: %s\n", error != cudaSuccess ? cudaGetErrorString(error) : "no CUDA device");
    return 77;
  }
  last_progress = Clock::now().time_since_epoch().count();
  std::thread(watch).detach();
  Soak soak(settings);
  const bool good = soak.run();
  return soak.write_json() && good ? 0 : 1;
}
