// SPDX-License-Identifier: Apache-2.0
//
// main() of the device tests: 77 (skipped) where there is no GPU that the library could serve, a watchdog against
// kernels that hang, and a failure if no test case was run.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>

#include "gpu.h"

namespace {

using Clock = std::chrono::steady_clock;

unsigned cases_run = 0;
std::atomic<const char*> case_name{"no test case"};
std::mutex input_mutex;
std::string input;

struct Observer : doctest::IReporter {
  explicit Observer(const doctest::ContextOptions&) {}
  void report_query(const doctest::QueryData&) override {}
  void test_run_start() override {}
  void test_run_end(const doctest::TestRunStats& stats) override { cases_run = stats.numTestCasesPassingFilters; }
  void test_case_start(const doctest::TestCaseData& data) override {
    case_name = data.m_name;
    vdn_delta::test::note_input("none of the model's");
  }
  void test_case_reenter(const doctest::TestCaseData&) override {}
  void test_case_end(const doctest::CurrentTestCaseStats&) override {}
  void test_case_exception(const doctest::TestCaseException&) override {}
  void subcase_start(const doctest::SubcaseSignature&) override {}
  void subcase_end() override {}
  void log_assert(const doctest::AssertData& data) override {
    const std::lock_guard<std::mutex> lock(input_mutex);
    if (data.m_failed) std::printf("  the line below is of \"%s\", input: %s\n", case_name.load(), input.c_str());
    std::fflush(stdout);
  }
  void log_message(const doctest::MessageData&) override {}
  void test_case_skipped(const doctest::TestCaseData&) override {}
};

REGISTER_LISTENER("observer", 1, Observer);

// What the main thread waits for, and since when; null while it does not wait.
std::atomic<const char*> waits_for{nullptr};
std::atomic<Clock::rep> waits_since{0};

void watch() {
  const std::chrono::seconds limit(vdn_delta::test::quick() ? 180 : 30);
  for (;;) {
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    const char* what = waits_for.load();
    if (what == nullptr) continue;
    const Clock::time_point since{Clock::duration(waits_since.load())};
    if (Clock::now() - since < limit || waits_for.load() == nullptr) continue;
    std::printf("HANG: no end of %s within %lld s in test case \"%s\"\n", what, static_cast<long long>(limit.count()),
                case_name.load());
    std::fflush(stdout);
    std::_Exit(3);
  }
}

// Null if the tests can run here.
const char* why_not() {
  int count = 0, major = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess) return cudaGetErrorString(error);
  if (count == 0) return "no CUDA device";
  if (cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0) != cudaSuccess) return "device 0 is mute";
  return major < 8 ? "device 0 is older than compute capability 8.0" : nullptr;
}

}  // namespace

namespace vdn_delta::test {

void note_input(const std::string& text) {
  const std::lock_guard<std::mutex> lock(input_mutex);
  input = text;
}

Patience::Patience(const char* what) {
  waits_since = Clock::now().time_since_epoch().count();
  waits_for = what;
}

Patience::~Patience() { waits_for = nullptr; }

}  // namespace vdn_delta::test

int main(int argc, char** argv) {
  doctest::Context context(argc, argv);
  // Test cases to leave out or to run alone, as doctest's --test-case-exclude and --test-case: where a sanitizer runs
  // the program, its arguments are not for the caller to choose. What the arguments say comes first.
  const char* skip = std::getenv("VDN_TEST_SKIP");
  if (skip != nullptr && *skip != 0) context.addFilter("test-case-exclude", skip);
  const char* only = std::getenv("VDN_TEST_ONLY");
  if (argc == 1 && only != nullptr && *only != 0) context.addFilter("test-case", only);
  const char* reason = why_not();
  if (reason != nullptr) {
    std::printf("skipped: %s\n", reason);
    return 77;
  }
  std::thread(watch).detach();
  const int result = context.run();
  if (context.shouldExit()) return result;  // a query such as --list-test-cases
  if (result == 0 && cases_run == 0) {
    std::fprintf(stderr, "no test case was run\n");
    return 1;
  }
  return result;
}
