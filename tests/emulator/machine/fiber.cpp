// SPDX-License-Identifier: Apache-2.0
#include "fiber.h"

#include <boost/context/fiber.hpp>
#include <boost/context/preallocated.hpp>
#include <boost/context/protected_fixedsize_stack.hpp>
#include <cstddef>
#include <exception>
#include <utility>

#if defined(__SANITIZE_ADDRESS__)
#define VDN_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define VDN_ADDRESS_SANITIZER 1
#endif
#endif
#ifdef VDN_ADDRESS_SANITIZER
#include <sanitizer/common_interface_defs.h>
#endif

namespace vdn_delta::emulator {
namespace {

namespace context = boost::context;

// Frames of unoptimized kernels take some kilobytes, under the address sanitizer a multiple. Pages that are not touched
// cost nothing.
constexpr std::size_t kStackBytes = std::size_t{256} << 10;

struct Abandoned {};

// The stack of this thread of the operating system, or of a fiber, as the address sanitizer wants it told.
struct StackBounds {
  const void* bottom = nullptr;
  std::size_t bytes = 0;
};
void start_switch([[maybe_unused]] void** fake_stack, [[maybe_unused]] const StackBounds& to) {
#ifdef VDN_ADDRESS_SANITIZER
  __sanitizer_start_switch_fiber(fake_stack, to.bottom, to.bytes);
#endif
}
void finish_switch([[maybe_unused]] void* fake_stack, [[maybe_unused]] StackBounds* from) {
#ifdef VDN_ADDRESS_SANITIZER
  __sanitizer_finish_switch_fiber(fake_stack, from ? &from->bottom : nullptr, from ? &from->bytes : nullptr);
#endif
}

}  // namespace

struct Fiber::State {
  context::protected_fixedsize_stack allocator{kStackBytes};
  context::stack_context stack = allocator.allocate();
  StackBounds bounds{static_cast<char*>(stack.sp) - stack.size, stack.size}, outside;
  context::fiber inner, outer;
  void *inner_fake = nullptr, *outer_fake = nullptr;
  std::function<void()> body;
  bool done = true, abandoned = false;
  std::exception_ptr error;

  ~State() { allocator.deallocate(stack); }
};

Fiber::Fiber() : state_(std::make_unique<State>()) {}
Fiber::~Fiber() { abandon(); }
bool Fiber::done() const { return state_->done; }

namespace {
// The stack lives as long as the fiber's owner, so that it serves many fibers.
struct BorrowedStack {
  context::stack_context allocate() { return {}; }
  void deallocate(context::stack_context&) noexcept {}
};
}  // namespace

void Fiber::prepare(std::function<void()> body) {
  State& s = *state_;
  s.body = std::move(body);
  s.done = s.abandoned = false;
  s.inner = context::fiber(std::allocator_arg, context::preallocated(s.stack.sp, s.stack.size, s.stack),
                           BorrowedStack{}, [&s](context::fiber&& outer) {
                             finish_switch(nullptr, &s.outside);
                             s.outer = std::move(outer);
                             try {
                               if (!s.abandoned) s.body();
                             } catch (const Abandoned&) {
                             } catch (...) {  // the kernel's own; it may not leave the stack
                               s.error = std::current_exception();
                             }
                             s.done = true;
                             start_switch(nullptr, s.outside);  // null: this stack is not coming back
                             return std::move(s.outer);
                           });
}

void Fiber::resume() {
  State& s = *state_;
  start_switch(&s.outer_fake, s.bounds);
  s.inner = std::move(s.inner).resume();
  finish_switch(s.outer_fake, nullptr);
  if (s.error) std::rethrow_exception(std::exchange(s.error, nullptr));
}

void Fiber::suspend() {
  State& s = *state_;
  start_switch(&s.inner_fake, s.outside);
  s.outer = std::move(s.outer).resume();
  finish_switch(s.inner_fake, &s.outside);
  if (s.abandoned) throw Abandoned{};
}

void Fiber::abandon() {
  if (done()) return;
  state_->abandoned = true;
  resume();
}

}  // namespace vdn_delta::emulator
