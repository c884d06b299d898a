// SPDX-License-Identifier: Apache-2.0
//
// Who runs next: the order in which the machine lets threads go on and transfers complete. A schedule is a few numbers,
// so that a failure can be repeated.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace vdn_delta::emulator {

// A thread runs until it waits for something. Under kRandom it is also interrupted between two accesses to memory, at
// random.
enum class Order { kRoundRobin, kReversed, kRandom };
// Transfers complete as soon as the issuing thread stops, at random among the threads, or only when no thread can go
// on: the oldest first, or the newest.
enum class Delivery { kEarly, kRandom, kLateOldestFirst, kLateNewestFirst };
// One warp or one CTA of each cluster that runs only when nobody else can, or whenever it can.
enum class Favour { kNone, kLateWarp, kLateCta, kEagerWarp };

struct Schedule {
  Order order = Order::kRoundRobin;
  Delivery delivery = Delivery::kEarly;
  Favour favour = Favour::kNone;
  int who = 0;  // the favour's warp (over all CTAs of the cluster) or CTA
  // Beside a late warp or CTA, transfers that are late too come after it, not before it.
  bool transfers_last = false;
  std::uint64_t seed = 1;
};

std::string describe(const Schedule& schedule);

// For a cluster of `ctas` with `warps` each: the plain orders with early and late transfers, `random` seeds, and every
// warp and every CTA in turn as late as possible; also the eager ones.
std::vector<Schedule> all_schedules(int ctas, int warps, int random);

// The picks of one run. Threads are numbered over the cluster.
class Scheduler {
 public:
  Scheduler(const Schedule& schedule, int threads, int threads_per_cta);

  void set_runnable(int thread, bool runnable);
  // The thread that goes on, or -1: a transfer is to complete instead, or nobody can.
  int pick(int transfers);
  // Which of `transfers` (in the order of their issue) completes.
  int pick_transfer(int transfers);
  // How many accesses to memory until the running thread is interrupted.
  std::uint64_t slice();

 private:
  std::uint64_t random();
  int next(int group, int from) const;
  bool favoured(int thread) const;

  Schedule schedule_;
  int threads_, threads_per_cta_, last_;
  std::uint64_t state_;
  // Runnable threads, a bit each, and how many: the others, and the favoured.
  std::vector<std::uint64_t> runnable_[2];
  int count_[2] = {0, 0};
};

}  // namespace vdn_delta::emulator
