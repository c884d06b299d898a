// SPDX-License-Identifier: Apache-2.0
//
// bench --timeline: who does what when in the pair kernel, as a picture. A kernel of its own, compiled with clock
// samples (src/pair/timeline.cuh), so that the one in the library has none; sampling makes it some per cent slower.
#pragma once

#include <array>
#include <string>
#include <vector>

namespace vdn_delta::bench {

// What one role did from one clock to another, counted from the cluster's first barrier.
struct Span {
  int step;  // -1: before the first or behind the last
  std::string what;
  double begin, end;  // clocks
};
struct Timeline {
  std::string gpu;
  struct Role {
    std::string name;
    std::vector<Span> spans;  // ascending
  };
  std::vector<Role> roles;
};

// One matrix on one cluster, nothing else on the GPU; the run with the median length of several. Throws
// std::runtime_error where that cannot be.
Timeline measure_timeline(const std::string& gpu);

// An SVG picture: a row for each role, a colour for each kind of work, waiting left white.
std::string draw(const Timeline& timeline);

// The mean clocks of each kind of work in the steps, as a table for the terminal.
std::string summary(const Timeline& timeline);

}  // namespace vdn_delta::bench
