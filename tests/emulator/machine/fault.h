// SPDX-License-Identifier: Apache-2.0
//
// What the machine finds wrong with a kernel. Plain data, shared by all of its parts.
#pragma once

#include <cstdint>
#include <string>

namespace vdn_delta::emulator {

// A place in a kernel's source: where one of arch/'s functions was called.
struct Where {
  const char* file = "";
  std::uint32_t line = 0;
};
// As a default argument: the place of the call of the function that has it.
constexpr Where here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  return {file, static_cast<std::uint32_t>(line)};
}
std::string text_of(Where where);  // "phases/sweep.cuh:57"

enum class FaultKind {
  kNone,
  kRace,         // two conflicting accesses without an order
  kProxy,        // ordered, but without the fence that the copy engine needs
  kUnwritten,    // a word is read that nobody has written
  kBounds,       // outside of every array, or of the CTA's shared memory
  kPermission,   // an input is written, or an output read
  kAlignment,    // address or size do not suit the instruction
  kPredecessor,  // global memory touched before the wait for the grid before this one
  kBarrier,      // barriers, mbarriers and warp instructions used against their rules
  kExit,         // a CTA ends while somebody still uses its shared memory
  kDeadlock,     // nobody can go on
  kLaunch,       // the launch itself is not possible
};
const char* name_of(FaultKind kind);

struct Fault {
  FaultKind kind = FaultKind::kNone;
  std::string text;  // one line, or several for a deadlock
  explicit operator bool() const { return kind != FaultKind::kNone; }
};

}  // namespace vdn_delta::emulator
