// SPDX-License-Identifier: Apache-2.0
//
// The command line of the bench.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace vdn_delta::bench {

struct Options {
  bool help = false;
  bool list = false;
  bool tsv = false;                       // --plot-data without a file
  std::vector<std::string> plot_records;  // --plot-data FILE...
  std::string compare_old, compare_new;
  bool tune = false;
  std::string tune_record;  // --tune FILE
  std::string timeline;     // --timeline FILE

  // Empty lists take the default of the machine (see help_text).
  std::vector<std::int64_t> n;
  std::vector<std::string> modes, variants, baselines, families;
  std::int64_t accuracy_n = -1;  // matrices per accuracy row; 0: no accuracy part; -1: the default
  bool timing = true;
  int samples = 0;  // 0: the default of the mode
  int threads = 0;  // 0: all hardware threads
  std::uint64_t seed = 1;
  std::string json;  // record file
};

// Returns an empty string, or what is wrong with the command line.
std::string parse_options(int argc, char** argv, Options* options);

const char* help_text();

}  // namespace vdn_delta::bench
