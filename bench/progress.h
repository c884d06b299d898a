// SPDX-License-Identifier: Apache-2.0
//
// Signs of life on stderr, so that stdout holds only results.
#pragma once

#include <chrono>
#include <string>

namespace vdn_delta::bench {

// On a terminal one line that is rewritten; elsewhere (a log) a line at most every few seconds.
class Progress {
 public:
  Progress();
  ~Progress();
  void say(const std::string& what);
  void clear();  // before something is printed to stdout

 private:
  using Clock = std::chrono::steady_clock;
  bool terminal_;
  std::size_t shown_ = 0;
  Clock::time_point start_, last_;
};

}  // namespace vdn_delta::bench
