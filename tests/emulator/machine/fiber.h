// SPDX-License-Identifier: Apache-2.0
//
// Fibers on Boost.Context, with the notes to the address sanitizer that each switch needs. One fiber is one CUDA
// thread; all of them run in one thread of the operating system, so that a debugger and printf work as usual.
#pragma once

#include <functional>
#include <memory>

namespace vdn_delta::emulator {

class Fiber {
 public:
  Fiber();
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Makes the fiber ready to run `body` from its start. It must not be under way.
  void prepare(std::function<void()> body);
  // From outside of every fiber: runs until suspend() or the end. What the body throws comes out here.
  void resume();
  // From inside: back to who called resume().
  void suspend();
  // From outside: ends a fiber that is under way, by an exception out of its suspend().
  void abandon();
  bool done() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace vdn_delta::emulator
