// SPDX-License-Identifier: Apache-2.0
#include "progress.h"

#include <unistd.h>

#include <cstdio>

namespace vdn_delta::bench {

Progress::Progress() : terminal_(isatty(STDERR_FILENO) != 0), start_(Clock::now()), last_(start_) {}

Progress::~Progress() { clear(); }

void Progress::say(const std::string& what) {
  const Clock::time_point now = Clock::now();
  const double elapsed = std::chrono::duration<double>(now - start_).count();
  char line[160];
  std::snprintf(line, sizeof line, "[%5.1f s] %s", elapsed, what.c_str());
  if (terminal_) {
    clear();
    shown_ = static_cast<std::size_t>(std::fprintf(stderr, "%s", line));
  } else if (now - last_ >= std::chrono::seconds(5)) {
    std::fprintf(stderr, "%s\n", line);
    last_ = now;
  }
  std::fflush(stderr);
}

void Progress::clear() {
  if (shown_ > 0) std::fprintf(stderr, "\r%*s\r", static_cast<int>(shown_), "");
  shown_ = 0;
}

}  // namespace vdn_delta::bench
