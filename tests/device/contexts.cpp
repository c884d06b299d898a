// SPDX-License-Identifier: Apache-2.0
//
// Where the device is not all there, not alone, or not as the library left it:
//   - few and many clusters, straight through the kernels' own doors (ARC-04, ARC-06, ARC-16);
//   - a green context of 16 multiprocessors (ARC-17);
//   - two streams by turns, graphs and eager calls mixed (STR-06); a capture of a blocking stream (STR-02);
//   - a second device, while the first is current (STR-09);
//   - errors of the caller's own that are pending in the runtime (STR-12).
#include <cuda.h>

#include <algorithm>
#include <set>
#include <thread>

#include "periodic.h"

namespace vdn_delta::test {
namespace {

TEST_CASE("ARC-04, ARC-06, ARC-16 device contexts: one cluster, few, all that fit, and more than fit") {
  const Batch period = period_batch(171);
  const Result expected = run(period, call_of(variants().front()));
  const std::int64_t n = quick() ? 9 : 3 * multiprocessors() + 1;
  Periodic arrays(period, n);
  Stream stream;
  for (const Variant& variant : variants()) {
    CAPTURE(variant.name);
    const host::Row& row = row_of(variant);
    host::VariantFacts facts;
    VDN_CUDA(static_cast<cudaError_t>(row.prepare(&facts)));
    CHECK(facts.ctas_per_sm >= 1);
    if (row.cluster > 1) CHECK(facts.clusters >= 1);
    const std::int64_t resident = resident_units(variant);
    if (row.cluster > 1) CHECK(resident == facts.clusters);
    std::set<std::int64_t> counts = {1, 2, 3};
    if (!quick()) counts.insert({7, 8, resident - 1, resident, resident + 1, 2 * resident + 1});
    for (const std::int64_t units : counts) {
      if (units < 1 || units > n) continue;
      CAPTURE(units);
      arrays.poison();
      VDN_CUDA(arrays.launch(n, row, static_cast<int>(units), stream));
      CHECK(arrays.count_wrong(n, expected) == 0);
    }
  }
}

// The driver's functions for green contexts, found at run time: the tests link with the runtime alone.
struct GreenDriver {
  decltype(&cuDeviceGetDevResource) device_resource = nullptr;
  decltype(&cuDevSmResourceSplitByCount) split = nullptr;
  decltype(&cuDevResourceGenerateDesc) describe = nullptr;
  decltype(&cuGreenCtxCreate) create = nullptr;
  decltype(&cuGreenCtxDestroy) destroy = nullptr;
  decltype(&cuCtxFromGreenCtx) context_of = nullptr;
  decltype(&cuGreenCtxStreamCreate) create_stream = nullptr;
  decltype(&cuStreamDestroy) destroy_stream = nullptr;
  decltype(&cuCtxPushCurrent) push = nullptr;
  decltype(&cuCtxPopCurrent) pop = nullptr;

  bool load() {
    return find("cuDeviceGetDevResource", &device_resource) && find("cuDevSmResourceSplitByCount", &split) &&
           find("cuDevResourceGenerateDesc", &describe) && find("cuGreenCtxCreate", &create) &&
           find("cuGreenCtxDestroy", &destroy) && find("cuCtxFromGreenCtx", &context_of) &&
           find("cuGreenCtxStreamCreate", &create_stream) && find("cuStreamDestroy", &destroy_stream) &&
           find("cuCtxPushCurrent", &push) && find("cuCtxPopCurrent", &pop);
  }

 private:
  template <class Function>
  static bool find(const char* name, Function* function) {
    void* address = nullptr;
    cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
    const cudaError_t error =
        cudaGetDriverEntryPointByVersion(name, &address, CUDA_VERSION, cudaEnableDefault, &result);
    cudaGetLastError();
    *function = reinterpret_cast<Function>(address);
    return error == cudaSuccess && result == cudaDriverEntryPointSuccess && address != nullptr;
  }
};

TEST_CASE("ARC-17 device contexts: a green context of 16 multiprocessors") {
  if (quick()) return;  // a sanitizer knows nothing of them
  GreenDriver driver;
  if (!driver.load()) {
    MESSAGE("this driver has no green contexts");
    return;
  }
  const Batch period = period_batch(172);
  const Result expected = run(period, call_of(variants().front()));
  const std::int64_t n = 300;
  Periodic arrays(period, n);
  int device = 0;
  VDN_CUDA(cudaGetDevice(&device));
  CUdevResource all{}, part{}, rest{};
  unsigned groups = 1;
  CUdevResourceDesc description = nullptr;
  CUgreenCtx green = nullptr;
  CUcontext context = nullptr;
  CUresult result = driver.device_resource(device, &all, CU_DEV_RESOURCE_TYPE_SM);
  if (result == CUDA_SUCCESS) result = driver.split(&part, &groups, &all, &rest, 0, 16);
  if (result == CUDA_SUCCESS) result = driver.describe(&description, &part, 1);
  if (result == CUDA_SUCCESS) result = driver.create(&green, description, device, CU_GREEN_CTX_DEFAULT_STREAM);
  if (result == CUDA_SUCCESS) result = driver.context_of(&context, green);
  if (result != CUDA_SUCCESS) {
    MESSAGE("this driver refuses a green context: " << static_cast<int>(result));
    return;
  }
  CHECK(part.sm.smCount >= 16);
  CHECK(part.sm.smCount < static_cast<unsigned>(multiprocessors()));
  std::vector<Call> calls;
  for (const Variant& variant : variants()) calls.push_back(call_of(variant));
  calls.push_back({});
  for (const bool is_current : {false, true}) {
    CAPTURE(is_current);
    CUstream stream = nullptr;
    REQUIRE(driver.create_stream(&stream, green, CU_STREAM_NON_BLOCKING, 0) == CUDA_SUCCESS);
    for (const Call& call : calls) {
      CAPTURE(static_cast<int>(call.variant));
      arrays.poison();
      // No check while another context is current: a failed one would leave it so.
      if (is_current && driver.push(context) != CUDA_SUCCESS) break;
      const vdn_status_t prepared = is_current ? vdn_delta_prepare(-1) : VDN_STATUS_SUCCESS;
      const vdn_status_t status = arrays.try_enqueue(n, call, stream);
      const std::string message = vdn_last_error_message();
      const cudaError_t finished = cudaStreamSynchronize(stream), left = cudaGetLastError();
      CUcontext popped = nullptr;
      if (is_current) REQUIRE(driver.pop(&popped) == CUDA_SUCCESS);
      CAPTURE(message);
      CHECK(prepared == VDN_STATUS_SUCCESS);
      CHECK(status == VDN_STATUS_SUCCESS);
      CHECK(finished == cudaSuccess);
      CHECK(left == cudaSuccess);
      if (status == VDN_STATUS_SUCCESS) CHECK(arrays.count_wrong(n, expected) == 0);
    }
    CHECK(driver.destroy_stream(stream) == CUDA_SUCCESS);
  }
  CHECK(driver.destroy(green) == CUDA_SUCCESS);
  // The device as a whole serves as before.
  for (const Call& call : calls) {
    arrays.poison();
    arrays.enqueue(n, call, nullptr);
    CHECK(arrays.count_wrong(n, expected) == 0);
  }
}

TEST_CASE("STR-06 device contexts: two streams by turns, graphs and eager calls mixed") {
  const std::int64_t n = quick() ? 8 : multiprocessors() + 3;
  const Batch periods[] = {period_batch(173), period_batch(174)};
  const Result expected[] = {run(periods[0], call_of(variants().front())),
                             run(periods[1], call_of(variants().front()))};
  for (const Variant& variant : variants()) {
    CAPTURE(variant.name);
    const Call call = call_of(variant);
    Periodic arrays[] = {Periodic(periods[0], n), Periodic(periods[1], n)};
    Stream streams[2], capturing;
    const auto capture = [&](const Periodic& which) {
      VDN_CUDA(cudaStreamBeginCapture(capturing, cudaStreamCaptureModeThreadLocal));
      const vdn_status_t status = which.try_enqueue(n, call, static_cast<cudaStream_t>(capturing));
      CHECK(status == VDN_STATUS_SUCCESS);
    };
    capture(arrays[0]);
    const Graph first(capturing);
    capture(arrays[1]);
    const Graph second(capturing);
    const Graph* graphs[] = {&first, &second};
    for (int round = 0; round < (quick() ? 2 : 20); ++round) {
      CAPTURE(round);
      for (Periodic& one : arrays) one.poison();
      for (int turn = 0; turn < 8; ++turn) {
        const int which = turn % 2, stream = (turn / 2 + round) % 2;
        // Each set of arrays stays in one stream for a round: two kernels that write the same words at once are the
        // caller's mistake.
        const cudaStream_t place = streams[(which + round) % 2];
        if (stream == 0) {
          graphs[which]->launch(place);
        } else {
          arrays[which].enqueue(n, call, place);
        }
      }
      for (int which = 0; which < 2; ++which) CHECK(arrays[which].count_wrong(n, expected[which]) == 0);
    }
  }
}

TEST_CASE("STR-02 device contexts: captured on a blocking stream, where a stray use of the legacy one is an error") {
  const Batch period = period_batch(177);
  const Result expected = run(period, call_of(variants().front()));
  Periodic arrays(period, period.n);
  for (const Variant& variant : variants()) {
    CAPTURE(variant.name);
    arrays.poison();
    Stream blocking(true);
    VDN_CUDA(cudaStreamBeginCapture(blocking, cudaStreamCaptureModeGlobal));
    const vdn_status_t status = arrays.try_enqueue(period.n, call_of(variant), static_cast<cudaStream_t>(blocking));
    const vdn_status_t prepared = vdn_delta_prepare(-1);
    const bool valid = is_capturing(blocking);
    const Graph graph(blocking);
    CHECK(status == VDN_STATUS_SUCCESS);
    CHECK(prepared == VDN_STATUS_SUCCESS);
    CHECK(valid);
    CHECK(graph.nodes() == 1);
    graph.launch(blocking);
    CHECK(arrays.count_wrong(period.n, expected) == 0);
  }
}

// The current device while alive.
class CurrentDevice {
 public:
  explicit CurrentDevice(int device) {
    VDN_CUDA(cudaGetDevice(&before_));
    VDN_CUDA(cudaSetDevice(device));
  }
  ~CurrentDevice() { cudaSetDevice(before_); }
  CurrentDevice(const CurrentDevice&) = delete;
  CurrentDevice& operator=(const CurrentDevice&) = delete;

 private:
  int before_ = 0;
};

TEST_CASE("STR-09, ARC-06 device contexts: a second device") {
  int devices = 0, current = -1;
  VDN_CUDA(cudaGetDeviceCount(&devices));
  if (devices < 2) {
    MESSAGE("one device only: nothing to test");
    return;
  }
  const Batch batch = model_batch(quick() ? 2 : multiprocessors() + 3, 175);
  const CurrentDevice zero(0);
  for (const Variant& variant : variants()) {
    CAPTURE(variant.name);
    const Call call = call_of(variant);
    const Result first = run(batch, call);
    // The other device is prepared while this one is current.
    CHECK(vdn_delta_prepare(1) == VDN_STATUS_SUCCESS);
    vdn_delta_plan_t plan = VDN_DELTA_PLAN_INIT;
    CHECK(vdn_delta_plan(batch.n, nullptr, 1, &plan) == VDN_STATUS_SUCCESS);
    CHECK(plan.device == 1);
    VDN_CUDA(cudaGetDevice(&current));
    CHECK(current == 0);
    cudaDeviceProp properties[2];
    for (const int d : {0, 1}) VDN_CUDA(cudaGetDeviceProperties(&properties[d], d));
    const bool alike = std::string(properties[0].name) == properties[1].name;
    {
      const CurrentDevice one(1);
      const Result second = run(batch, call);
      if (alike) CHECK(count_different(second, first) == 0);
      CHECK(count_nonzero(second.info) == 0);
    }
    CHECK(count_different(run(batch, call), first) == 0);
    // One thread for each device, at once.
    const Buffers here(batch, call);
    const CurrentDevice one(1);
    const Buffers there(batch, call);
    vdn_status_t statuses[2] = {VDN_STATUS_MAX_ENUM, VDN_STATUS_MAX_ENUM};
    cudaError_t errors[2] = {cudaErrorUnknown, cudaErrorUnknown};
    const auto work = [&](int device,
                          const Buffers& buffers) {  // no check in here: doctest's exceptions must not leave
      cudaSetDevice(device);
      for (int i = 0; i < 50; ++i) {
        statuses[device] = buffers.try_enqueue(cudaStreamPerThread);
        if (statuses[device] != VDN_STATUS_SUCCESS) break;
      }
      errors[device] = cudaStreamSynchronize(cudaStreamPerThread);
    };
    {
      const Patience patience("two devices");
      std::thread other([&] { work(0, here); });
      work(1, there);
      other.join();
    }
    for (const int d : {0, 1}) {
      CHECK(statuses[d] == VDN_STATUS_SUCCESS);
      CHECK(errors[d] == cudaSuccess);
    }
    const Result result_there = there.collect();
    CHECK(count_nonzero(result_there.info) == 0);
    VDN_CUDA(cudaSetDevice(0));
    CHECK(count_different(here.collect(), first) == 0);
  }
}

TEST_CASE("STR-12 device contexts: a pending error of the caller's is neither reported nor swallowed") {
  if (quick()) return;  // a sanitizer counts what the runtime answers
  const Batch batch = model_batch(3, 176);
  for (const Variant& variant : variants()) {
    CAPTURE(variant.name);
    const Call call = call_of(variant);
    const Result expected = run(batch, call);
    const Buffers buffers(batch, call);
    const auto make_pending = [] {
      cudaGetLastError();
      void* memory = nullptr;
      CHECK(cudaMalloc(&memory, ~std::size_t{0} / 2) == cudaErrorMemoryAllocation);
    };
    make_pending();
    CHECK(buffers.try_enqueue(nullptr) == VDN_STATUS_SUCCESS);
    CHECK(cudaGetLastError() == cudaErrorMemoryAllocation);
    make_pending();
    CHECK(vdn_delta_prepare(-1) == VDN_STATUS_SUCCESS);
    CHECK(cudaGetLastError() == cudaErrorMemoryAllocation);
    make_pending();
    CHECK(vdn_delta_factors(0, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr) == VDN_STATUS_SUCCESS);
    CHECK(cudaGetLastError() == cudaErrorMemoryAllocation);
    CHECK(cudaGetLastError() == cudaSuccess);
    CHECK(count_different(buffers.collect(), expected) == 0);
  }
}

}  // namespace
}  // namespace vdn_delta::test
