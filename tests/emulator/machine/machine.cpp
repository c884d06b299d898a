// SPDX-License-Identifier: Apache-2.0
//
// Running: clusters, threads, who goes on, and how it ends.
#include "machine.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>
#include <utility>

#include "state.h"

namespace vdn_delta::emulator {
namespace {

// Ends a run from outside of every fiber.
struct Stop {};

// What shared memory holds before a kernel writes it: a NaN that no arithmetic makes.
constexpr std::uint32_t kPoison = 0x7fedbeefu;

// Of a cluster: accesses and barriers, 25 times what six matrices take. A kernel that needs more has no end.
constexpr std::uint64_t kMostSteps = std::uint64_t{1} << 26;

}  // namespace

std::string text_of(Where where) {
  std::string file = where.file;
  for (const char* folder : {"/src/", "/tests/"}) {
    const std::size_t at = file.rfind(folder);
    if (at != std::string::npos) {
      file = file.substr(at + std::strlen(folder));
      break;
    }
  }
  return file + ":" + std::to_string(where.line);
}

const char* name_of(FaultKind kind) {
  switch (kind) {
    case FaultKind::kNone: return "none";
    case FaultKind::kRace: return "race";
    case FaultKind::kProxy: return "proxy";
    case FaultKind::kUnwritten: return "unwritten";
    case FaultKind::kBounds: return "bounds";
    case FaultKind::kPermission: return "permission";
    case FaultKind::kAlignment: return "alignment";
    case FaultKind::kPredecessor: return "predecessor";
    case FaultKind::kBarrier: return "barrier";
    case FaultKind::kExit: return "exit";
    case FaultKind::kDeadlock: return "deadlock";
    case FaultKind::kLaunch: return "launch";
  }
  return "?";
}

Machine& machine() {
  static Machine the_machine;
  return the_machine;
}

Machine::Machine() = default;
Machine::~Machine() = default;

// ---- who am I

Machine::Thread& Machine::self() const { return *threads_[static_cast<std::size_t>(current_)]; }
Machine::Cta& Machine::own_cta() const { return *ctas_[static_cast<std::size_t>(self().cta)]; }
int Machine::thread_index() const { return self().index; }
int Machine::block_index() const { return own_cta().index; }
int Machine::cluster_rank() const { return self().cta; }

void* Machine::dynamic_shared(std::size_t bytes, std::size_t alignment) {
  Cta& cta = own_cta();
  if (bytes > cta.bytes)
    fail(FaultKind::kBounds, "the kernel uses " + std::to_string(bytes) +
                                 " bytes of shared memory and was launched with " + std::to_string(cta.bytes));
  if (reinterpret_cast<std::uintptr_t>(cta.shared) % alignment != 0)
    fail(FaultKind::kAlignment, "shared memory is not as aligned as the kernel wants it");
  return cta.shared;
}

void Machine::wait_for_predecessor() { self().predecessor_done = true; }

std::string Machine::thread_name(int thread) const {
  const Thread& t = *threads_[static_cast<std::size_t>(thread)];
  std::string text = "thread " + std::to_string(t.index) + " (warp " + std::to_string(t.index / kWarpSize) + ", lane " +
                     std::to_string(t.index % kWarpSize) + ")";
  if (launch_.cluster > 1) text += " of CTA " + std::to_string(t.cta);
  return text;
}

std::string Machine::name_of_use(const char* what, Where where) const {
  return thread_name(current_) + ": " + what + " at " + text_of(where);
}

std::string Machine::agent_name(const Stamp& access) const {
  if (access.cluster != cluster_) return "another cluster";
  if (access.agent < threads()) return thread_name(access.agent);
  return "the copy engine for " + thread_name(slot_issuer_[static_cast<std::size_t>(access.agent - threads())]);
}
int Machine::warps_per_cta() const { return (launch_.block + kWarpSize - 1) / kWarpSize; }

// ---- running

Fault Machine::run(const LaunchConfig& launch, const std::function<void()>& kernel) {
  launch_ = launch;
  fault_ = Fault();
  statistics = Statistics();
  constexpr int kClusters = 1 << 16;  // a Stamp's field
  if (launch.grid < 1 || launch.block < 1 || launch.block > kThreadLimit || launch.cluster < 1 || launch.cluster > 8 ||
      launch.grid % launch.cluster != 0 || launch.grid / launch.cluster > kClusters || launch.shared_bytes < 0 ||
      launch.shared_bytes > kSharedLimit) {
    fault_ = {FaultKind::kLaunch, "no grid of this shape can be launched"};
    return fault_;
  }
  const auto count = static_cast<std::size_t>(threads());
  slots_ = launch.cluster == 1 ? kSlotsAlone : kSlotsOfCluster;
  width_ = count + static_cast<std::size_t>(slots_);
  while (threads_.size() < count) threads_.push_back(std::make_unique<Thread>());
  while (ctas_.size() < static_cast<std::size_t>(launch.cluster)) ctas_.push_back(std::make_unique<Cta>());
  global_.resize(settings.regions.size());
  for (std::size_t r = 0; r < global_.size(); ++r) {
    const Region& region = settings.regions[r];
    global_[r].reset(region.use == Region::kInput ? 0 : region.bytes / 4, region.use == Region::kBoth);
  }
  const int clusters = launch.grid / launch.cluster;
  for (int i = 0; i < clusters && !fault_; ++i)
    run_cluster(settings.schedule.order == Order::kReversed ? clusters - 1 - i : i, kernel);
  return fault_;
}

void Machine::reset_cta(int rank, int index) {
  Cta& cta = *ctas_[static_cast<std::size_t>(rank)];
  cta.rank = rank, cta.index = index, cta.live = launch_.block, cta.ended = false;
  cta.bytes = static_cast<std::size_t>(launch_.shared_bytes);
  if (cta.shared == nullptr) {
    void* pages = mmap(nullptr, kSharedLimit, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) fail(FaultKind::kLaunch, "no address space for shared memory");
    cta.shared = static_cast<unsigned char*>(pages);
  }
  cta.data.resize(cta.bytes);
  for (std::size_t i = 0; i + 4 <= cta.bytes; i += 4) std::memcpy(&cta.data[i], &kPoison, 4);
  cta.shadow.reset(cta.bytes / 4, false);
  cta.mbarriers.clear();
  cta.barriers.assign(16, NamedBarrier());
  cta.touched.assign(width_, Stamp());
  cta.end.assign(width_, 0);
}

void Machine::reset_thread(int thread, const std::function<void()>& kernel) {
  const auto i = static_cast<std::size_t>(thread);
  Thread& t = *threads_[i];
  t.cta = thread / launch_.block, t.index = thread % launch_.block;
  t.alive = true;
  t.predecessor_done = !launch_.programmatic;
  t.cluster_barriers = 0, t.cluster_arrived = 0;
  t.view.visible.assign(width_, 0);
  t.view.fenced.assign(width_, 0);
  t.view.visible[i] = 1;
  t.inits.clear();
  t.snapshot.reset();
  t.what = "", t.object = nullptr;
  t.open_stores.clear(), t.stores.clear();
  t.fiber.prepare(kernel);
  scheduler_->set_runnable(thread, true);
}

void Machine::run_cluster(int index, const std::function<void()>& kernel) {
  cluster_ = index;
  live_ = threads();
  steps_ = 0;
  warps_.assign(static_cast<std::size_t>(warps_per_cta() * launch_.cluster), Warp());
  cluster_barrier_ = ClusterBarrier();
  transfers_.clear();
  slot_clock_.assign(static_cast<std::size_t>(slots_), 0);
  slot_issuer_.assign(static_cast<std::size_t>(slots_), 0);
  free_slots_.resize(static_cast<std::size_t>(slots_));
  std::iota(free_slots_.begin(), free_slots_.end(), 0);
  scheduler_ = std::make_unique<Scheduler>(settings.schedule, threads(), launch_.block);
  const auto abandon_all = [this]() {
    current_ = -1;
    for (int thread = 0; thread < threads(); ++thread) threads_[static_cast<std::size_t>(thread)]->fiber.abandon();
  };
  try {
    for (int rank = 0; rank < launch_.cluster; ++rank) reset_cta(rank, index * launch_.cluster + rank);
    for (int thread = 0; thread < threads(); ++thread) reset_thread(thread, kernel);
    loop();
  } catch (const Stop&) {
  } catch (...) {  // thrown by the kernel
    abandon_all();
    throw;
  }
  abandon_all();
}

void Machine::loop() {
  while (!fault_) {
    const int thread = scheduler_->pick(static_cast<int>(transfers_.size()));
    if (thread >= 0) {
      Thread& t = *threads_[static_cast<std::size_t>(thread)];
      ++statistics.switches;
      slice_ = scheduler_->slice();
      current_ = thread;
      t.fiber.resume();
      current_ = -1;
      if (t.fiber.done()) end_thread(t);
    } else if (!transfers_.empty()) {
      deliver(static_cast<std::size_t>(scheduler_->pick_transfer(static_cast<int>(transfers_.size()))));
    } else if (live_ == 0) {
      return;
    } else {
      fail(FaultKind::kDeadlock, deadlock_report());
    }
  }
}

void Machine::end_thread(Thread& t) {
  const int thread = t.cta * launch_.block + t.index;
  t.alive = false;
  --live_;
  scheduler_->set_runnable(thread, false);
  t.stores.insert(t.stores.end(), t.open_stores.begin(), t.open_stores.end());
  if (!t.stores.empty())
    fail(FaultKind::kExit, thread_name(thread) + " ends without having waited for its bulk store at " +
                               text_of(t.stores.front().where) + " to have read shared memory");
  if (t.cluster_arrived == cluster_barrier_.generation + 1) --cluster_barrier_.arrived;  // no longer counted
  Cta& cta = *ctas_[static_cast<std::size_t>(t.cta)];
  join(cta.end, t.view.visible);
  if (--cta.live == 0) end_cta(cta);
  finish_cluster_barrier();  // which counts only those that have not ended
}

// Whoever uses this CTA's shared memory from outside must be known to have done so by the end of its threads.
void Machine::end_cta(Cta& cta) {
  cta.ended = true;
  for (std::size_t agent = 0; agent < cta.touched.size(); ++agent) {
    const Stamp& touch = cta.touched[agent];
    if (touch.exists() && cta.end[agent] < touch.clock)
      fail(FaultKind::kExit, "CTA " + std::to_string(cta.index) + " may end before " + agent_name(touch) +
                                 " has used its shared memory at " + text_of(touch.where()));
  }
}

void Machine::touch() {
  if (++steps_ > kMostSteps)
    fail(FaultKind::kDeadlock,
         "no end after " + std::to_string(kMostSteps) + " steps; " + thread_name(current_) + " is under way");
  if (--slice_ == 0) self().fiber.suspend();
}

void Machine::block(const char* what, const void* object, Where where) {
  Thread& t = self();
  t.what = what, t.object = object, t.where = where;
  scheduler_->set_runnable(current_, false);
  t.fiber.suspend();
}

void Machine::wait_in(std::vector<int>& waiting, const char* what, const void* object, Where where) {
  waiting.push_back(current_);
  block(what, object, where);
}

void Machine::wake(std::vector<int>& waiting) {
  for (const int thread : waiting) scheduler_->set_runnable(thread, true);
  waiting.clear();
}

void Machine::fail(FaultKind kind, const std::string& text) {
  if (!fault_) fault_ = {kind, text};
  if (current_ >= 0) self().fiber.suspend();  // for good: the loop ends and abandons everybody
  throw Stop{};
}

std::string Machine::describe_mbarrier(const void* p, int parity) const {
  const Cta* cta = find_cta(p);
  if (cta == nullptr) return "";
  const auto at = cta->mbarriers.find(static_cast<std::size_t>(static_cast<const unsigned char*>(p) - cta->shared));
  if (at == cta->mbarriers.end()) return "";
  const Mbarrier& b = at->second;
  return ": parity " + std::to_string(parity) + " of the one at byte " + std::to_string(at->first) + " of CTA " +
         std::to_string(cta->index) + " (made at " + text_of(b.init.where()) + "), " + std::to_string(b.phase) +
         " phases complete, of the next " + std::to_string(b.pending) + " of " + std::to_string(b.expected) +
         " arrivals missing, " + std::to_string(b.bytes) + " bytes";
}

std::string Machine::deadlock_report() const {
  // Lanes that wait for the same thing in the same place are one line.
  std::map<std::pair<int, std::string>, std::vector<int>> groups;
  for (int thread = 0; thread < threads(); ++thread) {
    const Thread& t = *threads_[static_cast<std::size_t>(thread)];
    if (!t.alive) continue;
    const std::string text = std::string(t.what) + " at " + text_of(t.where) + describe_mbarrier(t.object, t.parity);
    groups[{t.cta * warps_per_cta() + t.index / kWarpSize, text}].push_back(t.index % kWarpSize);
  }
  std::string report = "nobody can go on";
  for (const auto& [who, lanes] : groups)
    report += "\n  CTA " + std::to_string(ctas_[static_cast<std::size_t>(who.first / warps_per_cta())]->index) +
              " warp " + std::to_string(who.first % warps_per_cta()) + ", " + std::to_string(lanes.size()) +
              " lanes from " + std::to_string(lanes.front()) + ": " + who.second;
  return report;
}

}  // namespace vdn_delta::emulator
