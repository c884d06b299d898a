// SPDX-License-Identifier: Apache-2.0
//
// The race detector: for every word of memory, who wrote it last and who has read it since, with vector clocks
// (Flanagan and Freund, "FastTrack", PLDI 2009). An agent is a thread of the cluster or a transfer of the copy engine.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "fault.h"

namespace vdn_delta::emulator {

// clock[a] of a holder: everything that agent a did up to that time comes before what the holder does now.
using Clocks = std::vector<std::uint32_t>;

// Nothing is known yet as long as `into` is empty.
inline void join(Clocks& into, const Clocks& from) {
  if (into.size() < from.size()) into.resize(from.size(), 0);
  std::uint32_t* a = into.data();
  const std::uint32_t* b = from.data();
  for (std::size_t i = 0, n = from.size(); i < n; ++i) a[i] = std::max(a[i], b[i]);
}

// What a thread can rely on, or a barrier passes on: `visible` for ordinary accesses, `fenced` for the copy engine's.
struct View {
  Clocks visible, fenced;
  void join_with(const View& other) {
    join(visible, other.visible);
    join(fenced, other.fenced);
  }
};

// One access: by whom, when by its own clock, in which cluster of the grid, and where in the source. Sixteen bytes,
// since there are millions: addresses of user space have 47 bits, so that a line number finds room above a file's name.
struct Stamp {
  static constexpr std::uint16_t kNobody = 0xffff;

  std::uint64_t place = 0;  // file and line
  std::uint32_t clock = 0;
  std::uint16_t agent = kNobody;
  std::uint16_t cluster = 0;

  Stamp() = default;
  Stamp(Where where, std::uint32_t when, int who, int of)
      : place(reinterpret_cast<std::uint64_t>(where.file) | std::uint64_t{where.line} << 48),
        clock(when),
        agent(static_cast<std::uint16_t>(who)),
        cluster(static_cast<std::uint16_t>(of)) {}
  bool exists() const { return agent != kNobody; }
  Where where() const {
    return {reinterpret_cast<const char*>(place & 0xffffffffffffu), static_cast<std::uint32_t>(place >> 48)};
  }
};

// What a new access finds in its way.
struct Conflict {
  enum Kind { kNone, kUnwritten, kAfterWrite, kAfterRead } kind = kNone;
  Stamp other;
};

class Shadow {
 public:
  // `initialised`: every word counts as written before the launch.
  void reset(std::size_t words, bool initialised);

  // Checks one word's access against the earlier ones and enters it. `before`: what the agent comes after.
  Conflict read(std::size_t word, const Stamp& access, const Clocks& before);
  Conflict write(std::size_t word, const Stamp& access, const Clocks& before);
  // A word that only the barrier instructions may touch.
  void set_barrier(std::size_t word) { words_[word].is_barrier = true; }
  bool is_barrier(std::size_t word) const { return words_[word].is_barrier; }

 private:
  struct Word {
    Stamp writer;
    std::vector<Stamp> readers;  // since the last write, the last access of each
    bool is_barrier = false;
  };
  std::vector<Word> words_;
  bool initialised_ = false;
};

}  // namespace vdn_delta::emulator
