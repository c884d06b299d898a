// SPDX-License-Identifier: Apache-2.0
//
// Barriers of a warp, of a CTA and of a cluster, and what they order.
#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "state.h"

namespace vdn_delta::emulator {
namespace {

bool same(Where a, Where b) { return a.line == b.line && std::strcmp(a.file, b.file) == 0; }

}  // namespace

// A release gives away what the thread has done and seen; what it does from now on is of a new time.
void Machine::release(View& into) {
  into.join_with(self().view);
  advance();
}
void Machine::acquire(const View& from) {
  self().view.join_with(from);
  self().snapshot.reset();
}
void Machine::advance() {
  ++self().view.visible[static_cast<std::size_t>(current_)];
  self().snapshot.reset();
}

// ---- warps

Machine::Warp& Machine::own_warp() {
  return warps_[static_cast<std::size_t>(self().cta * warps_per_cta() + self().index / kWarpSize)];
}
int Machine::own_warp_lanes() const {
  const int first = self().index / kWarpSize * kWarpSize;
  return std::min(kWarpSize, launch_.block - first);
}

bool Machine::meet(Warp& warp, const char* what, int id, bool same_place, Where where) {
  touch();
  const Thread& t = self();
  const int lanes = own_warp_lanes(), first = t.cta * launch_.block + t.index / kWarpSize * kWarpSize;
  for (int lane = 0; lane < lanes; ++lane)
    if (!threads_[static_cast<std::size_t>(first + lane)]->alive)
      fail(FaultKind::kBarrier,
           name_of_use(what, where) + ", but lane " + std::to_string(lane) + " of the warp has ended");
  if (warp.arrived == 0) {
    warp.what = what, warp.id = id, warp.where = where;
  } else if (std::strcmp(warp.what, what) != 0 || warp.id != id || (same_place && !same(warp.where, where))) {
    fail(FaultKind::kBarrier, name_of_use(what, where) + " while other lanes of the warp wait in " + warp.what +
                                  " at " + text_of(warp.where));
  }
  if (++warp.arrived < lanes) return false;
  warp.arrived = 0;
  return true;
}

void Machine::wait_for_lanes(Warp& warp, bool last, const char* what, Where where) {
  const std::uint64_t meeting = warp.meetings;
  if (last) {
    ++warp.meetings;
    wake(warp.waiting);
  } else {
    while (warp.meetings == meeting) wait_in(warp.waiting, what, nullptr, where);
  }
}

void Machine::warp_sync(Where where) {
  const char* what = "warp_sync";
  Warp& warp = own_warp();
  const bool last = meet(warp, what, 0, false, where);
  release(warp.gathered);
  if (last) warp.done = std::exchange(warp.gathered, View());
  wait_for_lanes(warp, last, what, where);
  acquire(warp.done);  // the next meeting is not before all lanes have been here
}

// Orders nothing: "shfl.sync" is no memory barrier.
std::uint32_t Machine::warp_shuffle(std::uint32_t value, int source, Where where) {
  const char* what = "warp_shuffle";
  Warp& warp = own_warp();
  const bool last = meet(warp, what, 0, true, where);
  warp.value[self().index % kWarpSize] = value;
  if (last) std::copy(std::begin(warp.value), std::end(warp.value), std::begin(warp.result));
  wait_for_lanes(warp, last, what, where);
  return warp.result[static_cast<unsigned>(source) % kWarpSize];  // the instruction takes the number of the lane so
}

// ---- CTAs

// Enters the barrier, and opens it if this was the last of its threads.
Machine::Arrival Machine::arrive(const char* what, int id, int threads, Where where) {
  Cta& cta = own_cta();
  const auto place = [&]() {
    return thread_name(current_) + ": barrier " + std::to_string(id) + " at " + text_of(where);
  };
  const bool all = threads == 0;
  if (all) threads = launch_.block;
  if (id < 0 || id >= static_cast<int>(cta.barriers.size())) fail(FaultKind::kBarrier, place() + ": no such barrier");
  if (!all && threads % kWarpSize != 0)
    fail(FaultKind::kBarrier, place() + ": a count of " + std::to_string(threads) + " is no number of whole warps");
  const bool last_lane = meet(own_warp(), what, id, true, where);
  NamedBarrier& b = cta.barriers[static_cast<std::size_t>(id)];
  if (b.threads == 0) {
    b.threads = threads, b.where = where;
  } else if (b.threads != threads) {
    fail(FaultKind::kBarrier, place() + ": for " + std::to_string(threads) + " threads, at " + text_of(b.where) +
                                  " for " + std::to_string(b.threads));
  }
  const Arrival arrival{&b, b.generation, last_lane};
  release(b.gathered);
  if (last_lane) b.arrived += own_warp_lanes();
  if (b.arrived > b.threads) fail(FaultKind::kBarrier, place() + ": more threads than it is for");
  if (b.arrived < b.threads) return arrival;
  // Others may use the barrier before these have woken: what they gave goes to those who wait here, and to nobody else.
  ++b.generation;
  b.arrived = b.threads = 0;
  b.last = std::exchange(b.gathered, View());
  for (const int thread : b.waiting) {
    Thread& t = *threads_[static_cast<std::size_t>(thread)];
    t.view.join_with(b.last);
    t.snapshot.reset();
  }
  wake(b.waiting);
  return arrival;
}

void Machine::barrier_sync(int id, int threads, Where where) {
  const char* what = id == 0 ? "the CTA's barrier" : "a named barrier";
  const Arrival arrival = arrive(what, id, threads, where);
  NamedBarrier& b = *arrival.barrier;
  if (b.generation != arrival.generation) {
    acquire(b.last);  // opened by this thread just now
  } else {
    while (b.generation == arrival.generation) wait_in(b.waiting, what, nullptr, where);
  }
}

// Waits for the other lanes of the warp only, since they arrive together.
void Machine::barrier_arrive(int id, int threads, Where where) {
  const char* what = "barrier_arrive";
  const Arrival arrival = arrive(what, id, threads, where);
  wait_for_lanes(own_warp(), arrival.last_of_warp, what, where);
}

// ---- clusters

void Machine::cluster_arrive(Release how, Where where) {
  touch();
  Thread& t = self();
  ClusterBarrier& b = cluster_barrier_;
  if (t.cluster_arrived != 0)
    fail(FaultKind::kBarrier,
         thread_name(current_) + ": second arrival at the cluster barrier without a wait, at " + text_of(where));
  t.cluster_arrived = b.generation + 1;
  ++b.arrived;
  // "fence.mbarrier_init" is a release for initialisations, which even a relaxed arrival carries on.
  join(b.inits, t.view.visible);
  if (how == Release::kCluster) release(b.gathered);
  finish_cluster_barrier();
}

void Machine::cluster_wait(Acquire how, Where where) {
  touch();
  Thread& t = self();
  ClusterBarrier& b = cluster_barrier_;
  if (t.cluster_arrived == 0)
    fail(FaultKind::kBarrier,
         thread_name(current_) + ": wait at the cluster barrier without an arrival, at " + text_of(where));
  while (b.generation < t.cluster_arrived) wait_in(b.waiting, "the cluster's barrier", nullptr, where);
  t.cluster_arrived = 0;
  ++t.cluster_barriers;
  join(t.inits, b.done_inits);
  if (how == Acquire::kCluster) acquire(b.done);
}

void Machine::finish_cluster_barrier() {
  ClusterBarrier& b = cluster_barrier_;
  if (b.arrived == 0 || b.arrived < live_) return;
  ++b.generation;
  b.arrived = 0;
  b.done_inits = std::exchange(b.inits, Clocks());
  b.done = std::exchange(b.gathered, View());  // nobody completes the next one before all have taken this one
  wake(b.waiting);
}

}  // namespace vdn_delta::emulator
