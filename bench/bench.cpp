// SPDX-License-Identifier: Apache-2.0
//
// The bench: which device, how accurate, how fast. See --help.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <fstream>
#include <map>
#include <memory>
#include <stdexcept>

#include "accuracy.h"
#include "cpu.h"
#include "gpu.h"
#include "options.h"
#include "progress.h"
#include "record.h"
#include "report.h"
#include "timeline.h"
#include "tune.h"

namespace vdn_delta::bench {
namespace {

using Contenders = std::vector<std::unique_ptr<Contender>>;

// By default pair is not run with more: nobody would choose it, and it only takes time.
constexpr std::int64_t kMostPairMatrices = 707;

bool wanted(const std::vector<std::string>& list, const char* word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

// The options with every default filled in for this machine.
struct Setup {
  Options options;
  GpuInfo gpu;
  Contenders on_gpu, on_cpu;
  std::vector<std::string> gpu_modes;
};

void add_gpu_contenders(Setup* setup) {
  const Options& options = setup->options;
  struct Choice {
    const char* name;
    vdn_variant_t variant;
  };
  for (const Choice& choice : {Choice{"auto", VDN_VARIANT_AUTO}, Choice{"single", VDN_VARIANT_SINGLE},
                               Choice{"pair", VDN_VARIANT_PAIR}, Choice{"compact", VDN_VARIANT_COMPACT}}) {
    const bool named = wanted(options.variants, choice.name);
    if (!named && !options.variants.empty()) continue;
    std::string why_not;
    std::unique_ptr<GpuContender> contender = make_gpu_variant(choice.variant, &why_not);
    if (contender != nullptr) {
      setup->on_gpu.push_back(std::move(contender));
    } else if (named) {
      throw std::runtime_error(std::string("variant ") + choice.name + ": " + why_not);
    }
  }
  if (options.baselines.empty() || wanted(options.baselines, "chain")) {
    if (std::unique_ptr<GpuContender> chain = make_gpu_chain()) {
      setup->on_gpu.push_back(std::move(chain));
    } else if (!options.baselines.empty()) {
      throw std::runtime_error("baseline chain: this build has no cuBLAS and cuSOLVER");
    }
  }
}

void add_cpu_contenders(Setup* setup) {
  const Options& options = setup->options;
  setup->on_cpu.push_back(make_cpu_path(options.threads));
  if (options.baselines.empty() || wanted(options.baselines, "lapack")) {
    if (std::unique_ptr<Contender> lapack = make_lapack_chain(options.threads)) {
      setup->on_cpu.push_back(std::move(lapack));
    } else if (!options.baselines.empty()) {
      throw std::runtime_error("baseline lapack: this build has no LAPACK");
    }
  }
}

// The contenders that run with n matrices: no variant twice, once by AUTO and once by its name.
std::vector<Contender*> chosen(const Contenders& contenders, std::int64_t n, const Options& options) {
  std::vector<Contender*> list;
  for (const auto& contender : contenders) {
    const std::string name = contender->name_for(n);
    const bool is_there =
        std::any_of(list.begin(), list.end(), [&](const Contender* other) { return other->name_for(n) == name; });
    const bool is_too_much = options.variants.empty() && contender->name() == "pair" && n > kMostPairMatrices;
    if (!is_there && !is_too_much) list.push_back(contender.get());
  }
  return list;
}

Setup make_setup(const Options& asked) {
  Setup setup;
  setup.options = asked;
  setup.gpu = gpu_info();
  Options& options = setup.options;
  if (options.tune) {
    options.variants = {"pair", "single", "compact"};
    options.baselines = {"none"};
    options.modes = {"graph"};
    options.accuracy_n = 0;
    if (options.n.empty()) options.n = tune_sizes(setup.gpu.multiprocessors, setup.gpu.clusters);
  }

  const bool only_cpu_named = (options.modes.size() == 1 && wanted(options.modes, "cpu")) ||
                              (options.variants.size() == 1 && wanted(options.variants, "cpu"));
  const bool cpu_named = wanted(options.modes, "cpu") || wanted(options.variants, "cpu");
  bool gpu_named = wanted(options.variants, "auto") || wanted(options.variants, "single") ||
                   wanted(options.variants, "pair") || wanted(options.variants, "compact") ||
                   wanted(options.baselines, "chain");
  for (const std::string& mode : options.modes) {
    if (mode != "cpu") {
      setup.gpu_modes.push_back(mode);
      gpu_named = true;
    }
  }
  if (gpu_named && !setup.gpu.present) throw std::runtime_error("no GPU to run this on: " + setup.gpu.why_not);
  if (setup.gpu_modes.empty()) setup.gpu_modes.push_back("graph");

  if (setup.gpu.present && !only_cpu_named) add_gpu_contenders(&setup);
  if (!setup.gpu.present || cpu_named) add_cpu_contenders(&setup);

  const bool gpu = !setup.on_gpu.empty();
  if (setup.options.n.empty()) {
    setup.options.n = gpu ? std::vector<std::int64_t>{1, 16, 64, 66, 100, 132, 264, 528, 707, 1414, 5656}
                          : std::vector<std::int64_t>{1, 16, 64, 707};
  }
  if (setup.options.accuracy_n < 0) setup.options.accuracy_n = gpu ? 707 : 64;
  return setup;
}

void print_device(const Setup& setup) {
  const int version = vdn_version();
  std::printf("vdn_delta %d.%d.%d\n", version / 10000, version / 100 % 100, version % 100);
  const GpuInfo& gpu = setup.gpu;
  if (gpu.present) {
    std::printf("GPU       %s, compute capability %d.%d, %d multiprocessors, %d clusters of pair, driver %s, CUDA %s\n",
                gpu.name.c_str(), gpu.capability_major, gpu.capability_minor, gpu.multiprocessors, gpu.clusters,
                gpu.driver.empty() ? "unknown" : gpu.driver.c_str(), gpu.cuda.c_str());
  } else {
    std::printf("GPU       none (%s): running on the CPU\n", gpu.why_not.c_str());
  }
  if (!setup.on_cpu.empty()) {
    std::printf("CPU       %s, %d threads\n", cpu_model().c_str(), cpu_threads(setup.options.threads));
  }
}

void print_list(const Setup& setup) {
  print_device(setup);
  std::printf("variants ");
  for (const Contenders* list : {&setup.on_gpu, &setup.on_cpu}) {
    for (const auto& contender : *list) std::printf(" %s", contender->name().c_str());
  }
  std::printf("\nmodes    %s cpu\n", setup.gpu.present ? " graph graph-cold stream" : "");
  std::printf("families  silu normal shifted\n");
}

// Returns the number of rows above their bar.
int accuracy_part(const Setup& setup, Record* record, Progress* progress) {
  const Options& options = setup.options;
  if (options.accuracy_n == 0) return 0;
  int failures = 0;
  print_error_head();
  record->checks["accuracy"] = "failed";  // until every row is seen
  const std::vector<AccuracyCase> cases = accuracy_cases(options.families, options.accuracy_n, options.seed);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const support::InputSpec& spec = cases[i].spec;
    char what[120];
    std::snprintf(what, sizeof what, "accuracy %zu/%zu: %s, %d tokens, beta scale %g, shift %g", i + 1, cases.size(),
                  support::family_name(spec.family), spec.tokens, spec.beta_scale, spec.shift);
    progress->say(what);
    for (const Contenders* contenders : {&setup.on_gpu, &setup.on_cpu}) {
      if (contenders->empty()) continue;
      const std::vector<Contender*> list = chosen(*contenders, spec.n, options);
      for (const ErrorRow& row : run_accuracy(cases[i], list, options.threads)) {
        progress->clear();
        print_error_row(row);
        if (row.verdict == "FAIL") ++failures;
        record->errors.push_back(row);
      }
    }
  }
  progress->clear();
  if (failures > 0) {
    std::printf("%d of the rows above FAIL\n", failures);
  } else {
    std::printf("all judged rows OK\n");
    record->checks["accuracy"] = options.families.empty() ? "passed" : "not run";  // only all of them count
  }
  return failures;
}

void print_timings(const std::vector<TimingRow>& rows, const Ceilings& ceilings) {
  double baseline_us = 0;
  for (const TimingRow& row : rows) {
    if (row.variant.rfind("baseline:", 0) == 0) baseline_us = row.us_median;
  }
  for (const TimingRow& row : rows) print_timing_row(row, ceilings, baseline_us);
}

void timing_part(const Setup& setup, Record* record, Progress* progress) {
  const Options& options = setup.options;
  print_timing_head();
  for (const std::int64_t n : options.n) {
    if (!setup.on_gpu.empty()) {
      progress->say("inputs for n " + std::to_string(n));
      const support::Batch batch = make_timing_batch(n, options.threads);
      const std::vector<Contender*> list = chosen(setup.on_gpu, n, options);
      const std::string by_auto = auto_variant(n);
      for (const std::string& mode : setup.gpu_modes) {
        std::vector<TimingRow> rows;
        for (Contender* contender : list) {
          progress->say("timing " + contender->name() + " " + mode + " n " + std::to_string(n));
          rows.push_back(static_cast<GpuContender*>(contender)->time(batch, mode, options.samples));
          rows.back().by_auto = rows.back().variant == by_auto;
        }
        progress->clear();
        print_timings(rows, record->ceilings);
        record->timings.insert(record->timings.end(), rows.begin(), rows.end());
      }
    }
    if (!setup.on_cpu.empty()) {
      const std::vector<TimingRow> rows = time_cpu(n, setup.on_cpu, options.samples, options.threads, progress);
      progress->clear();
      print_timings(rows, {});
      record->timings.insert(record->timings.end(), rows.begin(), rows.end());
    }
  }
}

void draw_timeline(const std::string& path) {
  const GpuInfo gpu = gpu_info();
  if (!gpu.present) throw std::runtime_error("no GPU to run this on: " + gpu.why_not);
  const Timeline timeline = measure_timeline(gpu.name);
  std::ofstream file(path);
  file << draw(timeline);
  finish(&file, path);
  std::fputs(summary(timeline).c_str(), stdout);
}

int run(const Options& options) {
  if (options.help) {
    std::fputs(help_text(), stdout);
    return 0;
  }
  if (!options.compare_old.empty()) {
    print_comparison(read_record(options.compare_old), read_record(options.compare_new));
    return 0;
  }
  if (!options.plot_records.empty()) {
    for (const std::string& path : options.plot_records) print_tsv(read_record(path));
    return 0;
  }

  if (!options.tune_record.empty()) {
    const Record record = read_record(options.tune_record);
    print_tuning(record, options.tune_record);
    return 0;
  }

  if (!options.timeline.empty()) {
    draw_timeline(options.timeline);
    return 0;
  }

  const Setup setup = make_setup(options);
  if (options.list) {
    print_list(setup);
    return 0;
  }
  print_device(setup);
  Progress progress;
  Record record = new_record();
  record.cpu = cpu_model();
  if (!setup.on_cpu.empty()) record.threads = cpu_threads(options.threads);
  if (!setup.on_gpu.empty()) {
    record.gpu = setup.gpu.name;
    record.driver = setup.gpu.driver;
    record.cuda = setup.gpu.cuda;
    record.capability = std::to_string(setup.gpu.capability_major) + "." + std::to_string(setup.gpu.capability_minor);
    record.multiprocessors = setup.gpu.multiprocessors;
    record.clusters = setup.gpu.clusters;
    progress.say("measuring the ceilings");
    record.ceilings = measure_ceilings();
    progress.clear();
  }
  print_counts(record.ceilings);

  int failures = 0;
  const auto save = [&] {
    if (!options.json.empty()) write_record(record, options.json);
  };
  try {
    failures = accuracy_part(setup, &record, &progress);
    if (options.timing) timing_part(setup, &record, &progress);
  } catch (...) {
    save();  // what was measured before is worth keeping
    throw;
  }
  save();
  if (options.tune) print_tuning(record, options.json);
  if (options.tsv) print_tsv(record);
  return failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace vdn_delta::bench

int main(int argc, char** argv) {
  vdn_delta::bench::Options options;
  const std::string wrong = vdn_delta::bench::parse_options(argc, argv, &options);
  if (!wrong.empty()) {
    std::fprintf(stderr, "bench: %s\n", wrong.c_str());
    return 2;
  }
  try {
    return vdn_delta::bench::run(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "\nbench: %s\n", error.what());
    return 1;
  }
}
