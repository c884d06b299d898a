// SPDX-License-Identifier: Apache-2.0
//
// A caller that was built for per-thread default streams (STR-17): in this file, stream 0 of the runtime is the calling
// thread's own. Two threads pass NULL, the legacy and the per-thread handle behind work of the stream that it means.
#define CUDA_API_PER_THREAD_DEFAULT_STREAM 1
#include <cuda_runtime_api.h>

#include <thread>

#include "periodic.h"

namespace vdn_delta::test {
namespace {

struct Handle {
  const char* name;
  void* handle;         // what the library is given
  cudaStream_t before;  // where the inputs come from
};

TEST_CASE("STR-17 device per-thread streams: a caller built for them, from two threads") {
  VDN_CUDA(load_kernels());
  const Batch batches[] = {model_batch(quick() ? 2 : multiprocessors() + 3, 181),
                           model_batch(quick() ? 2 : multiprocessors() + 3, 182)};
  const Source sources[] = {Source(batches[0]), Source(batches[1])};
  const Handle handles[] = {
      {"per-thread behind stream 0, which is it", cudaStreamPerThread, nullptr},
      {"NULL, which is legacy, behind legacy", nullptr, cudaStreamLegacy},
      // The per-thread stream is a blocking one: legacy work waits for it.
      {"NULL behind stream 0", nullptr, nullptr},
      {"legacy behind stream 0", cudaStreamLegacy, nullptr},
  };
  for (const Variant& variant : variants()) {
    CAPTURE(variant.name);
    const Call call = call_of(variant);
    const Result expected[] = {run(batches[0], call), run(batches[1], call)};
    for (const Handle& handle : handles) {
      CAPTURE(handle.name);
      // Each thread's inputs are the other batch until its predecessor has written them, after 2 ms.
      Buffers buffers[] = {Buffers(batches[1], call), Buffers(batches[0], call)};
      int failures[2] = {0, 0};
      for (const int who : {0, 1}) buffers[who].expect(batches[who]);
      const auto work = [&](int who) {  // no check in here: doctest's exceptions may not leave a thread
        const LateWrite write = sources[who].to(buffers[who], 2000, false);
        // Stream 0 by its own handle: the kernels' file was not built as this one.
        const cudaStream_t before = handle.before == nullptr ? cudaStreamPerThread : handle.before;
        failures[who] += write_late(write, before) != cudaSuccess;
        failures[who] += buffers[who].try_enqueue(handle.handle) != VDN_STATUS_SUCCESS;
        // Stream 0 in this file's own sense.
        failures[who] += cudaStreamSynchronize(nullptr) != cudaSuccess;
        failures[who] += cudaStreamSynchronize(cudaStreamLegacy) != cudaSuccess;
      };
      {
        const Patience patience("two threads");
        std::thread other(work, 1);
        work(0);
        other.join();
      }
      for (const int who : {0, 1}) {
        CAPTURE(who);
        CHECK(failures[who] == 0);
        CHECK(count_different(buffers[who].collect(), expected[who]) == 0);
      }
    }
  }
}

}  // namespace
}  // namespace vdn_delta::test
