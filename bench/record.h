// SPDX-License-Identifier: Apache-2.0
//
// One run as a file: the records of bench/records.
#pragma once

#include <iosfwd>
#include <map>
#include <string>
#include <vector>

#include "rows.h"

namespace vdn_delta::bench {

struct Record {
  std::string gpu, driver, cuda;  // empty on a CPU run
  std::string capability;         // compute capability, such as "9.0"
  int multiprocessors = 0;
  int clusters = 0;  // of pair, resident at once
  std::string cpu;   // the host's processor
  int threads = 0;   // host threads, where the CPU path was timed
  std::string date;  // YYYY-MM-DD
  Ceilings ceilings;
  std::map<std::string, std::string> source_hash;  // variant -> sha256
  std::map<std::string, std::string> checks;       // "passed", "failed" or "not run"
  std::vector<TimingRow> timings;
  std::vector<ErrorRow> errors;
};

// Today's date, the source hashes of this build, and checks that say "not run": the bench fills in "accuracy",
// tools/device-check the others.
Record new_record();

// Ends the writing of a file. Throws std::runtime_error unless all of it was written.
void finish(std::ofstream* file, const std::string& path);

void write_record(const Record& record, const std::string& path);  // throws std::runtime_error
Record read_record(const std::string& path);                       // throws std::runtime_error

}  // namespace vdn_delta::bench
