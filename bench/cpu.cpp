// SPDX-License-Identifier: Apache-2.0
#include "cpu.h"

#include <chrono>
#include <fstream>
#include <stdexcept>
#include <thread>

#include "vdn_delta/vdn_delta.h"

#ifdef VDN_BENCH_LAPACK
#include "baselines/lapack_cpu.h"
#endif

namespace vdn_delta::bench {
namespace {

class CpuPath : public Contender {
 public:
  explicit CpuPath(int threads) : threads_(threads) {}
  std::string name() const override { return "cpu"; }
  void solve(const support::Batch& batch, float* T, float* J) override {
    check_library(
        vdn_delta_factors_host(batch.n, batch.A.data(), batch.B.data(), batch.alpha.data(), T, J, nullptr, threads_),
        "vdn_delta_factors_host");
  }

 private:
  int threads_;
};

#ifdef VDN_BENCH_LAPACK
class LapackChain : public Contender {
 public:
  explicit LapackChain(int threads) : threads_(threads) {}
  std::string name() const override { return "baseline:lapack"; }
  void solve(const support::Batch& batch, float* T, float* J) override {
    if (!lapack_chain(batch.n, batch.A.data(), batch.B.data(), batch.alpha.data(), T, J, threads_)) {
      throw std::runtime_error("the LAPACK baseline failed");
    }
  }

 private:
  int threads_;
};
#endif

}  // namespace

std::string cpu_model() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    const std::size_t colon = line.find(": ");
    if (line.rfind("model name", 0) == 0 && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "CPU";
}

int cpu_threads(int asked) {
  const unsigned all = std::thread::hardware_concurrency();
  return asked > 0 ? asked : (all > 0 ? static_cast<int>(all) : 1);
}

std::unique_ptr<Contender> make_cpu_path(int threads) { return std::make_unique<CpuPath>(threads); }

std::unique_ptr<Contender> make_lapack_chain([[maybe_unused]] int threads) {
#ifdef VDN_BENCH_LAPACK
  return std::make_unique<LapackChain>(cpu_threads(threads));
#else
  return nullptr;
#endif
}

std::vector<TimingRow> time_cpu(std::int64_t n, const std::vector<std::unique_ptr<Contender>>& contenders, int samples,
                                int threads, Progress* progress) {
  using Clock = std::chrono::steady_clock;
  constexpr int kLeast = 5, kMost = 15;
  constexpr double kSecondsPerContender = 4.0;
  // A sample of a short call is the mean over several, so that a clock tick or a stray interrupt does not decide.
  constexpr double kLeastSampleSeconds = 2e-3;

  const support::Batch batch = make_timing_batch(n, threads);
  std::vector<float> T(batch.B.size()), J(batch.B.size());
  const auto seconds_of = [&](Contender& contender, int calls) {
    const Clock::time_point start = Clock::now();
    for (int call = 0; call < calls; ++call) contender.solve(batch, T.data(), J.data());
    return std::chrono::duration<double>(Clock::now() - start).count() / calls;
  };

  std::vector<int> calls;
  double per_round = 0;
  for (const auto& contender : contenders) {
    seconds_of(*contender, 1);  // first touch, lazy initialization
    const double one = seconds_of(*contender, 1);
    calls.push_back(one < kLeastSampleSeconds ? static_cast<int>(kLeastSampleSeconds / one) + 1 : 1);
    per_round += one * calls.back();
  }
  const double budget = kSecondsPerContender * static_cast<double>(contenders.size());
  if (samples == 0) {
    samples = kMost;
    while (samples > kLeast && samples * per_round > budget) --samples;
  }

  std::vector<std::vector<double>> us(contenders.size());
  for (int sample = 0; sample < samples; ++sample) {
    progress->say("timing cpu n " + std::to_string(n) + " sample " + std::to_string(sample + 1) + "/" +
                  std::to_string(samples));
    for (std::size_t who = 0; who < contenders.size(); ++who) {
      us[who].push_back(1e6 * seconds_of(*contenders[who], calls[who]));
    }
  }
  std::vector<TimingRow> rows;
  for (std::size_t who = 0; who < contenders.size(); ++who) {
    rows.push_back(timing_row(n, contenders[who]->name(), "cpu", us[who]));
  }
  return rows;
}

}  // namespace vdn_delta::bench
