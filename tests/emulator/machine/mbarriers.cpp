// SPDX-License-Identifier: Apache-2.0
//
// Barriers in shared memory: arrivals, bytes, phases, and what they order.
#include <string>

#include "state.h"

namespace vdn_delta::emulator {
namespace {

constexpr int kMostArrivals = (1 << 20) - 1;  // "mbarrier", the limits of the counts
constexpr std::int64_t kMostTransferBytes = (1 << 20) - 1;

}  // namespace

Machine::Mbarrier& Machine::find_mbarrier(Place place, const char* what, Where where) {
  const auto at = place.cta->mbarriers.find(place.offset);
  if (at == place.cta->mbarriers.end())
    fail(FaultKind::kBarrier,
         name_of_use(what, where) + ": byte " + std::to_string(place.offset) + " of shared memory is no mbarrier");
  return at->second;
}

void Machine::check_initialised(const Mbarrier& b, bool by_engine, const char* what, Where where) {
  const Thread& t = self();
  const auto place = [&]() { return name_of_use(what, where) + ": the initialisation at " + text_of(b.init.where()); };
  const bool fenced = b.init_fence != 0 && (t.view.visible[b.init.agent] >= b.init_fence ||
                                            (!t.inits.empty() && t.inits[b.init.agent] >= b.init_fence));
  if (!fenced && t.view.visible[b.init.agent] < b.init.clock)
    fail(FaultKind::kRace, place() + " has no order before it");
  if (by_engine && !fenced && t.view.fenced[b.init.agent] < b.init.clock)
    fail(FaultKind::kProxy, place() + " lacks a fence for the copy engine");
}

void Machine::mbarrier_init(const void* p, int arrivals, Where where) {
  touch();
  const Place place = own_place(p, kMbarrierBytes, kMbarrierBytes, "an mbarrier", where);
  if (arrivals < 1 || arrivals > kMostArrivals)
    fail(FaultKind::kBarrier,
         thread_name(current_) + ": an mbarrier for " + std::to_string(arrivals) + " arrivals, at " + text_of(where));
  if (place.cta->mbarriers.count(place.offset) != 0)
    fail(FaultKind::kBarrier, thread_name(current_) + ": an mbarrier is initialised again, at " + text_of(where));
  access_shared(place, kMbarrierBytes, true, where);
  place.cta->shadow.set_barrier(place.offset / 4);
  place.cta->shadow.set_barrier(place.offset / 4 + 1);
  Mbarrier& b = place.cta->mbarriers[place.offset];
  b.cta = place.cta->rank;
  b.init = stamp_of_self(where);
  b.expected = b.pending = arrivals;
}

void Machine::mbarrier_fence_init(Where) {
  for (auto& [offset, b] : own_cta().mbarriers)
    if (b.init.agent == current_ && b.init_fence == 0)
      b.init_fence = self().view.visible[static_cast<std::size_t>(current_)];
  advance();  // who is behind this time is behind the fence
}

void Machine::mbarrier_arrive(const void* p, Release how, int expect_bytes, bool remote, Where where) {
  touch();
  const char* what = "an arrival";
  const Place place = remote ? peer_place(p, kMbarrierBytes, kMbarrierBytes, what, where)
                             : own_place(p, kMbarrierBytes, kMbarrierBytes, what, where);
  Mbarrier& b = find_mbarrier(place, what, where);
  check_initialised(b, false, what, where);
  if (b.pending == 0)
    fail(FaultKind::kBarrier, thread_name(current_) + ": one arrival more than the mbarrier made at " +
                                  text_of(b.init.where()) + " is for, at " + text_of(where));
  b.bytes += expect_bytes;
  if (b.bytes > kMostTransferBytes)
    fail(FaultKind::kBarrier, thread_name(current_) + ": more bytes than an mbarrier counts, at " + text_of(where));
  if (place.cta == &own_cta()) {
    if (how != Release::kRelaxed) release(b.gathered);
  } else if (how == Release::kCluster) {  // a release at CTA scope means nothing to a peer
    release(b.remote_gathered);
  }
  --b.pending;
  finish_phase(b);
}

void Machine::finish_phase(Mbarrier& b) {
  if (b.pending != 0 || b.bytes != 0) return;
  // An arrival is a change of one word, and releases pile up in it: a wait for a phase comes after those before, too.
  ++b.phase;
  b.pending = b.expected;
  b.done = b.gathered, b.remote_done = b.remote_gathered;
  wake(b.waiting);
}

void Machine::mbarrier_wait(const void* p, int parity, Acquire how, Where where) {
  touch();
  const char* what = "a wait";
  Mbarrier& b = find_mbarrier(own_place(p, kMbarrierBytes, kMbarrierBytes, what, where), what, where);
  check_initialised(b, false, what, where);
  if (parity != 0 && parity != 1)
    fail(FaultKind::kBarrier, thread_name(current_) + ": parity " + std::to_string(parity) + " at " + text_of(where));
  // As the instruction does: what counts is the phase at the time of the test, not the phases since the wait began.
  self().parity = parity;
  while (static_cast<int>(b.phase % 2) == parity) wait_in(b.waiting, "an mbarrier", p, where);
  if (how != Acquire::kRelaxed) acquire(b.done);
  if (how == Acquire::kCluster) acquire(b.remote_done);
}

}  // namespace vdn_delta::emulator
