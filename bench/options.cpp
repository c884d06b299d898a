// SPDX-License-Identifier: Apache-2.0
#include "options.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>

namespace vdn_delta::bench {
namespace {

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> parts;
  std::size_t from = 0;
  while (from <= list.size()) {
    const std::size_t comma = std::min(list.find(',', from), list.size());
    if (comma > from) parts.push_back(list.substr(from, comma - from));
    from = comma + 1;
  }
  return parts;
}

bool parse_int(const std::string& text, std::int64_t low, std::int64_t high, std::int64_t* value) {
  char* end = nullptr;
  errno = 0;
  const long long parsed = std::strtoll(text.c_str(), &end, 10);
  if (text.empty() || *end != '\0' || errno != 0 || parsed < low || parsed > high) return false;
  *value = parsed;
  return true;
}

std::string check_words(const char* option, const std::vector<std::string>& words,
                        const std::vector<std::string>& known) {
  if (words.empty()) return std::string(option) + " needs a list";
  for (const std::string& word : words) {
    if (std::find(known.begin(), known.end(), word) == known.end()) {
      std::string message = std::string(option) + ": unknown \"" + word + "\"; known:";
      for (const std::string& one : known) message += " " + one;
      return message;
    }
  }
  return "";
}

std::string parse_sizes(const std::string& list, std::vector<std::int64_t>* sizes) {
  for (const std::string& part : split(list)) {
    // A number, FIRST..LAST or FIRST..LAST:STEP. 2^20 matrices already are 256 GiB.
    const std::int64_t most = std::int64_t{1} << 20;
    const std::size_t dots = part.find(".."), colon = part.find(':');
    std::int64_t first = 0, last = 0, step = 1;
    bool good = parse_int(part.substr(0, dots), 1, most, &first);
    last = first;
    if (dots != std::string::npos) {
      const std::size_t from = dots + 2;
      good = good && (colon == std::string::npos || colon >= from) &&
             parse_int(part.substr(from, colon == std::string::npos ? colon : colon - from), first, most, &last) &&
             (colon == std::string::npos || parse_int(part.substr(colon + 1), 1, most, &step));
    }
    if (!good) return "--n: \"" + part + "\" is no number in 1..1048576 and no range such as 1..64 or 1..64:8";
    for (std::int64_t n = first; n <= last; n += step) sizes->push_back(n);
  }
  return sizes->empty() ? "--n needs a list" : "";
}

}  // namespace

std::string parse_options(int argc, char** argv, Options* options) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  std::size_t at = 0;
  const auto has_value = [&] { return at + 1 < arguments.size() && arguments[at + 1].rfind("--", 0) != 0; };
  for (; at < arguments.size(); ++at) {
    const std::string& name = arguments[at];
    if (name == "--help" || name == "-h") {
      options->help = true;
      continue;
    }
    if (name == "--list") {
      options->list = true;
      continue;
    }
    if (name == "--no-timing") {
      options->timing = false;
      continue;
    }
    if (name == "--plot-data") {
      options->tsv = true;
      while (has_value()) options->plot_records.push_back(arguments[++at]);
      continue;
    }
    if (name == "--tune") {
      options->tune = true;
      if (has_value()) options->tune_record = arguments[++at];
      continue;
    }
    if (name == "--compare") {
      if (at + 2 >= arguments.size()) return "--compare needs two records: OLD NEW";
      options->compare_old = arguments[++at];
      options->compare_new = arguments[++at];
      continue;
    }

    static const char* const kWithValue[] = {"--n",       "--variant", "--baseline", "--json",
                                             "--mode",    "--seed",    "--families", "--accuracy",
                                             "--samples", "--threads", "--timeline"};
    if (std::find(std::begin(kWithValue), std::end(kWithValue), name) == std::end(kWithValue)) {
      return "unknown option \"" + name + "\" (see --help)";
    }
    if (!has_value()) return name + " needs a value";
    const std::string value = arguments[++at];
    std::string wrong;
    std::int64_t number = 0;
    if (name == "--n") {
      wrong = parse_sizes(value, &options->n);
    } else if (name == "--variant") {
      options->variants = split(value);
      wrong = check_words("--variant", options->variants, {"auto", "single", "pair", "compact", "cpu"});
    } else if (name == "--baseline") {
      options->baselines = split(value);
      wrong = check_words("--baseline", options->baselines, {"chain", "lapack", "none"});
    } else if (name == "--mode") {
      options->modes = split(value);
      wrong = check_words("--mode", options->modes, {"graph", "graph-cold", "stream", "cpu"});
    } else if (name == "--families") {
      options->families = split(value);
      wrong = check_words("--families", options->families, {"silu", "normal", "shifted"});
    } else if (name == "--json") {
      options->json = value;
    } else if (name == "--timeline") {
      options->timeline = value;
    } else if (name == "--accuracy") {
      if (!parse_int(value, 0, 65536, &options->accuracy_n)) wrong = "--accuracy needs a number in 0..65536";
    } else if (name == "--samples") {
      if (!parse_int(value, 1, 100000, &number)) wrong = "--samples needs a number in 1..100000";
      options->samples = static_cast<int>(number);
    } else if (name == "--threads") {
      if (!parse_int(value, 1, 4096, &number)) wrong = "--threads needs a number in 1..4096";
      options->threads = static_cast<int>(number);
    } else if (name == "--seed") {
      if (!parse_int(value, 0, INT64_MAX, &number)) wrong = "--seed needs a number";
      options->seed = static_cast<std::uint64_t>(number);
    }
    if (!wrong.empty()) return wrong;
  }
  return "";
}

const char* help_text() {
  return R"(usage: bench [options]

Checks the accuracy of T = diag(alpha) (I + A)^-1 and J = B (I + A)^-1 against an fp64 reference, then times them.
Runs on the GPU when there is one, otherwise on the CPU, and says which. Exit code: 0; 1 when an error is above its
bar or something failed; 2 for a wrong command line.

what to run
  --n LIST          batch sizes of the timing part, such as 1,64,707 or 1..1600 or 1..1600:8
  --variant LIST    auto, single, pair, compact (GPU) or cpu; default: all that this machine can run, pair up to
                    n = 707. The rows of auto have the name of the variant that it takes; it is not run twice at the
                    same n
  --baseline LIST   chain (GPU: cuSOLVER potrfBatched, cuBLAS trsm, two fp32 GEMMs), lapack (CPU: potrf, potri, gemm)
                    or none; default: the one of the device, if it was found at build time
  --mode LIST       graph       a CUDA graph of 20 launches on the same buffers, replayed (default on a GPU)
                    graph-cold  the same with buffers rotated through more memory than the L2 cache holds
                    stream      a plain loop of launches
                    cpu         the host path, wall clock (default without a GPU)
  --accuracy N      matrices per accuracy row; 0 leaves the accuracy part out; default: 707 on a GPU, 64 on a CPU
  --families LIST   accuracy inputs: silu, normal, shifted; default: all
  --seed S          of the accuracy inputs; default 1
  --no-timing       accuracy part only
  --samples N       timing samples per row; default: 30 on a GPU, up to 15 on a CPU
  --threads N       host threads (CPU path, inputs, reference); default: all
  --timeline FILE   draws what the roles of pair do when, for one matrix, as an SVG picture; nothing else is run
  --tune            all GPU variants, mode graph, no accuracy, at sizes around their waves (or those of --n); prints
                    the entry of this GPU for the table of auto; with FILE, that of an existing record, and exit

what to print
  --list            what this build and machine offer, and exit
  --json FILE       also write a record (the format of bench/records)
  --plot-data       print the rows as tab-separated columns; with FILE..., those of existing records, and exit
  --compare OLD NEW say for each row of two records whether NEW is faster, slower or undecided, and exit
)";
}

}  // namespace vdn_delta::bench
