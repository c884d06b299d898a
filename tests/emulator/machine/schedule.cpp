// SPDX-License-Identifier: Apache-2.0
#include "schedule.h"

namespace vdn_delta::emulator {
namespace {

constexpr int kWarp = 32;
constexpr int kBits = 64;  // of a word of runnable threads
// Interrupts are rare enough to be cheap and frequent enough to fall between any two accesses of a run now and then.
constexpr std::uint64_t kMeanSlice = 200;

}  // namespace

std::string describe(const Schedule& s) {
  static const char* const orders[] = {"round robin", "reversed", "random"};
  static const char* const deliveries[] = {"early", "random", "late, oldest first", "late, newest first"};
  static const char* const favours[] = {"", "late warp ", "late CTA ", "eager warp "};
  std::string text = orders[static_cast<int>(s.order)];
  if (s.favour != Favour::kNone)
    text += std::string(", ") + favours[static_cast<int>(s.favour)] + std::to_string(s.who);
  text += std::string(", transfers ") + deliveries[static_cast<int>(s.delivery)];
  if (s.transfers_last) text += ", after everybody";
  if (s.order == Order::kRandom || s.delivery == Delivery::kRandom) text += ", seed " + std::to_string(s.seed);
  return text;
}

std::vector<Schedule> all_schedules(int ctas, int warps, int random) {
  std::vector<Schedule> all;
  for (const Order order : {Order::kRoundRobin, Order::kReversed})
    for (const Delivery delivery : {Delivery::kEarly, Delivery::kLateOldestFirst, Delivery::kLateNewestFirst}) {
      Schedule s;
      s.order = order, s.delivery = delivery;
      all.push_back(s);
    }
  for (int i = 0; i < random; ++i) {
    Schedule s;
    s.order = Order::kRandom;
    s.delivery = i % 3 == 2 ? Delivery::kLateNewestFirst : Delivery::kRandom;
    s.seed = static_cast<std::uint64_t>(i) + 1;
    all.push_back(s);
  }
  const auto favour = [&](Favour kind, int who, bool odd) {
    Schedule s;
    s.favour = kind, s.who = who;
    s.order = odd ? Order::kReversed : Order::kRoundRobin;
    s.delivery = odd ? Delivery::kLateNewestFirst : Delivery::kEarly;
    s.transfers_last = odd && kind != Favour::kEagerWarp;
    all.push_back(s);
  };
  for (int warp = 0; warp < ctas * warps; ++warp) favour(Favour::kLateWarp, warp, warp % 2 == 1);
  for (int warp = 0; warp < ctas * warps; ++warp) favour(Favour::kEagerWarp, warp, warp % 2 == 0);
  if (ctas > 1)
    for (int cta = 0; cta < ctas; ++cta)
      for (const bool odd : {false, true}) favour(Favour::kLateCta, cta, odd);
  return all;
}

Scheduler::Scheduler(const Schedule& schedule, int threads, int threads_per_cta)
    : schedule_(schedule),
      threads_(threads),
      threads_per_cta_(threads_per_cta),
      last_(schedule.order == Order::kReversed ? 0 : threads - 1),
      state_(schedule.seed) {
  for (std::vector<std::uint64_t>& words : runnable_) words.assign(static_cast<std::size_t>(threads / kBits + 1), 0);
}

std::uint64_t Scheduler::random() {  // splitmix64, public domain (Steele, Lea and Flood 2014)
  std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

bool Scheduler::favoured(int thread) const {
  switch (schedule_.favour) {
    case Favour::kNone: return false;
    case Favour::kLateCta: return thread / threads_per_cta_ == schedule_.who;
    default: {
      const int warps = (threads_per_cta_ + kWarp - 1) / kWarp;
      return thread / threads_per_cta_ * warps + thread % threads_per_cta_ / kWarp == schedule_.who;
    }
  }
}

void Scheduler::set_runnable(int thread, bool runnable) {
  const int group = favoured(thread) ? 1 : 0;
  std::uint64_t& word = runnable_[group][static_cast<std::size_t>(thread / kBits)];
  const std::uint64_t bit = std::uint64_t{1} << thread % kBits;
  if (((word & bit) != 0) == runnable) return;
  word ^= bit;
  count_[group] += runnable ? 1 : -1;
}

// The first runnable thread of a group that is not empty, from `from` on in the schedule's direction.
int Scheduler::next(int group, int from) const {
  const std::vector<std::uint64_t>& words = runnable_[group];
  const auto size = static_cast<int>(words.size());
  int index = from / kBits;
  const int place = from % kBits;
  if (schedule_.order == Order::kReversed) {
    std::uint64_t word = words[static_cast<std::size_t>(index)] & (~std::uint64_t{0} >> (kBits - 1 - place));
    for (; word == 0; word = words[static_cast<std::size_t>(index)]) index = (index + size - 1) % size;
    return index * kBits + kBits - 1 - __builtin_clzll(word);
  }
  std::uint64_t word = words[static_cast<std::size_t>(index)] & (~std::uint64_t{0} << place);
  for (; word == 0; word = words[static_cast<std::size_t>(index)]) index = (index + 1) % size;
  return index * kBits + __builtin_ctzll(word);
}

int Scheduler::pick(int transfers) {
  const bool late = schedule_.favour == Favour::kLateWarp || schedule_.favour == Favour::kLateCta;
  if (transfers > 0) {
    if (schedule_.delivery == Delivery::kEarly) return -1;
    if (schedule_.delivery == Delivery::kRandom && random() % 64 == 0) return -1;
    if (late && count_[0] == 0 && !schedule_.transfers_last) return -1;
  }
  const int first = schedule_.favour == Favour::kEagerWarp ? 1 : 0;  // which group goes first
  for (const int group : {first, 1 - first}) {
    if (count_[group] == 0) continue;
    int from = (last_ + (schedule_.order == Order::kReversed ? threads_ - 1 : 1)) % threads_;
    if (schedule_.order == Order::kRandom) from = static_cast<int>(random() % static_cast<std::uint64_t>(threads_));
    return last_ = next(group, from);
  }
  return -1;
}

int Scheduler::pick_transfer(int transfers) {
  switch (schedule_.delivery) {
    case Delivery::kRandom: return static_cast<int>(random() % static_cast<std::uint64_t>(transfers));
    case Delivery::kLateNewestFirst: return transfers - 1;
    default: return 0;
  }
}

std::uint64_t Scheduler::slice() {
  return schedule_.order == Order::kRandom ? 1 + random() % (2 * kMeanSlice) : ~std::uint64_t{0};
}

}  // namespace vdn_delta::emulator
