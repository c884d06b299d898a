// SPDX-License-Identifier: Apache-2.0
//
// The CPU path as a guest in somebody's process: threads, forks, load time.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <thread>

#if defined(__linux__)
#include <sched.h>
#endif

#include "cpu_call.h"

namespace vdn_delta::test {
namespace {

using support::InputSpec;
using support::same_bits;

Batch make_small(std::int64_t n) {
  InputSpec spec;
  spec.n = n;
  spec.tokens = 16;
  spec.seed = 17;
  return make_batch(spec);
}

// CPU-06: before main, and before the constructors of other objects that the linker happens to put later.
struct EarlyCall {
  vdn_status_t status;
  float T = 0;
  EarlyCall() {
    const Batch batch = support::make_identity(1);
    std::vector<float> t(kMatrix), j(kMatrix);
    status =
        vdn_delta_factors_host(1, batch.A.data(), batch.B.data(), batch.alpha.data(), t.data(), j.data(), nullptr, 1);
    T = t[0];
  }
};
const EarlyCall early_call;

TEST_CASE("CPU-06: nothing has to be set up: a call from a static constructor works") {
  CHECK(early_call.status == VDN_STATUS_SUCCESS);
  CHECK(early_call.T == 1.0f);
}

// A call without doctest's macros, which a forked child must not touch.
bool call_gives(const Batch& batch, int threads, const Result& expected) {
  Result result;
  result.T.resize(batch.A.size());
  result.J.resize(batch.A.size());
  return vdn_delta_factors_host(batch.n, batch.A.data(), batch.B.data(), batch.alpha.data(), result.T.data(),
                                result.J.data(), nullptr, threads) == VDN_STATUS_SUCCESS &&
         same_bits(result.T, expected.T) && same_bits(result.J, expected.J);
}

// Forks a child that calls; true if it ended within ten seconds with the right result.
bool child_succeeds(const Batch& batch, const Result& expected) {
  const pid_t child = fork();
  if (child == 0) _exit(call_gives(batch, 4, expected) ? 0 : 1);
  if (child < 0) return false;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > deadline) {
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      return false;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST_CASE("CPU-02: call, fork, call in the child") {
  const Batch batch = make_small(16);
  const Result expected = run(batch, {Door{}, 4});
  CHECK(child_succeeds(batch, expected));

  // From threads of a pool, with other threads of it inside a call at the moment of the fork.
  std::atomic<bool> stop{false};
  std::atomic<int> failures{0}, calls{0};
  std::vector<std::thread> pool;
  for (int i = 0; i < 2; ++i) {
    pool.emplace_back([&]() {
      do {
        failures += call_gives(batch, 2, expected) ? 0 : 1;
        ++calls;
      } while (!stop);
    });
  }
  std::atomic<int> good_children{0};
  std::thread forker([&]() {
    for (int i = 0; i < 3; ++i) good_children += child_succeeds(batch, expected) ? 1 : 0;
  });
  forker.join();
  stop = true;
  for (std::thread& thread : pool) thread.join();
  CHECK(good_children == 3);
  CHECK(failures == 0);
  CHECK(calls >= 2);
}

TEST_CASE("cpu process: concurrent calls do not disturb each other") {
  const Batch first = make_small(12), second = slice(make_small(20), 12, 8);
  const Result first_result = run(first), second_result = run(second);
  std::atomic<int> failures{0};
  std::vector<std::thread> callers;
  for (int i = 0; i < 4; ++i) {
    callers.emplace_back([&, i]() {
      for (int k = 0; k < 5; ++k)
        failures += call_gives(i % 2 ? first : second, 2, i % 2 ? first_result : second_result) ? 0 : 1;
    });
  }
  for (std::thread& caller : callers) caller.join();
  CHECK(failures == 0);
}

#if defined(__linux__)
int count_tasks() {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    (void)entry;
    ++count;
  }
  return count;
}

// True once there are no more than `tasks` threads: the kernel lists a joined thread for a moment longer.
bool settles(int tasks) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (count_tasks() > tasks) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

// The most helper threads that existed at once during a call. Calls up to `calls` times, until `enough` have been seen:
// a short call can be over before the watcher has looked.
int most_helpers(const Batch& batch, int threads, int calls, int enough) {
  std::vector<float> T(batch.A.size()), J(batch.A.size());
  std::atomic<bool> stop{false}, ready{false};
  std::atomic<int> most{0};
  const int idle = count_tasks() + 1;  // with the watcher
  std::thread watcher([&]() {
    ready = true;
    while (!stop) {
      const int now = count_tasks();
      if (now > most) most = now;
    }
  });
  while (!ready) std::this_thread::yield();
  for (int i = 0; i < calls && (i < 3 || most - idle < enough); ++i) {
    vdn_delta_factors_host(batch.n, batch.A.data(), batch.B.data(), batch.alpha.data(), T.data(), J.data(), nullptr,
                           threads);
    CHECK(settles(idle));  // none outlives its call
  }
  stop = true;
  watcher.join();
  CHECK(settles(idle - 1));
  return most - idle;
}

TEST_CASE("CPU-04: the thread count is honoured, and the caller is one of them") {
  const Batch batch = make_small(200);
  for (const int threads : {1, 2, 4, 7}) {
    CAPTURE(threads);
    CHECK(most_helpers(batch, threads, 100, threads - 1) == threads - 1);
  }
  // By default no more than the processors this process may use; with one of them, no helper at all.
  cpu_set_t all, one;
  REQUIRE(sched_getaffinity(0, sizeof all, &all) == 0);
  CHECK(most_helpers(batch, 0, 3, 1000) <= CPU_COUNT(&all) - 1);
  CPU_ZERO(&one);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &all)) {
      CPU_SET(cpu, &one);
      break;
    }
  }
  REQUIRE(sched_setaffinity(0, sizeof one, &one) == 0);
  const int helpers = most_helpers(batch, 0, 3, 1000);
  REQUIRE(sched_setaffinity(0, sizeof all, &all) == 0);
  CHECK(helpers == 0);
}

TEST_CASE("CPU-01: a batch is spread over threads, a single matrix is not") {
  const Batch batch = make_small(4096 / 16);
  const Result serial = run(batch, {Door{}, 1});
  for (const int threads : {4, 16}) {
    CAPTURE(threads);
    const Result result = run(batch, {Door{}, threads});
    CHECK(same_bits(result.T, serial.T));
    CHECK(same_bits(result.J, serial.J));
    CHECK(most_helpers(batch, threads, 100, threads - 1) == threads - 1);
  }
  const Batch one = slice(batch, 3, 1);
  CHECK(most_helpers(one, 16, 200, 1000) == 0);
  CHECK(same_bits(run(one, {Door{}, 16}).T, serial.T_of(3)));
  // Never more threads than matrices.
  CHECK(most_helpers(slice(batch, 0, 3), 16, 200, 1000) <= 2);
}
#endif

}  // namespace
}  // namespace vdn_delta::test
