// SPDX-License-Identifier: Apache-2.0
//
// A small SIMT machine: runs a kernel thread by thread on the CPU, and watches it. Knows no CUDA and no kernel; the
// second implementation of arch/ (../layer) translates. docs/emulator.md says what is modelled and what is not.
//
// Functions under "for the layer" are called by the kernel's threads; everything else from outside of a run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "fault.h"
#include "fiber.h"
#include "schedule.h"
#include "shadow.h"

namespace vdn_delta::emulator {

// An array in global memory that a kernel may use, and how.
struct Region {
  enum Use { kInput, kOutput, kBoth };
  const char* name;
  const void* begin;
  std::size_t bytes;
  Use use;
};

struct Settings {
  Schedule schedule;
  std::vector<Region> regions;
  int rcp_error = 0;  // in ulp, how far the approximate reciprocal is off: -1, 0, 1
};

struct LaunchConfig {
  int grid = 1, block = 32, cluster = 1;  // CTAs, threads of each, CTAs of a cluster
  int shared_bytes = 0;                   // dynamic shared memory of each CTA
  bool programmatic = false;              // the grid before this one may still be running
};

struct Statistics {
  std::uint64_t switches = 0, words = 0, transfers = 0;  // words: checked reads and writes of four bytes
};

// Scopes and strengths of the barrier instructions, as far as they make a difference here.
enum class Release { kRelaxed, kCta, kCluster };
enum class Acquire { kRelaxed, kCta, kCluster };

class Machine {
 public:
  Machine();
  ~Machine();

  Settings settings;
  Statistics statistics;

  // Runs the grid's clusters one behind the other, each until all of its threads have returned or something is wrong.
  Fault run(const LaunchConfig& launch, const std::function<void()>& kernel);
  // What the last run found.
  const Fault& last_fault() const { return fault_; }

  // ---- for the layer: who am I
  int thread_index() const;
  int block_index() const;
  int block_count() const { return launch_.grid; }
  int cluster_rank() const;
  void* dynamic_shared(std::size_t bytes, std::size_t alignment);
  void wait_for_predecessor();

  // ---- for the layer: memory. Sizes in bytes, multiples of 4; addresses are multiples of the size. Shared memory is
  // only to be had in this way: what dynamic_shared() gives is an address range that nobody can touch. Of global memory
  // the access is checked, and then made by the caller.
  void read_shared(const void* p, void* value, std::size_t bytes, Where where);
  void write_shared(void* p, const void* value, std::size_t bytes, Where where);
  void check_global_read(const void* p, std::size_t bytes, Where where);
  void check_global_write(const void* p, std::size_t bytes, Where where);
  // The same place in the shared memory of CTA `rank` of the cluster.
  void* peer(const void* p, int rank, Where where);
  void read_peer(const void* p, void* value, std::size_t bytes, Where where);
  void write_peer(void* p, const void* value, std::size_t bytes, Where where);

  // ---- for the layer: warps and barriers
  void warp_sync(Where where);
  std::uint32_t warp_shuffle(std::uint32_t value, int source, Where where);
  void barrier_sync(int id, int threads, Where where);  // threads 0: all of the CTA
  void barrier_arrive(int id, int threads, Where where);
  void cluster_arrive(Release release, Where where);
  void cluster_wait(Acquire acquire, Where where);

  // ---- for the layer: mbarriers; `remote`: the barrier may be a peer's
  void mbarrier_init(const void* b, int arrivals, Where where);
  void mbarrier_fence_init(Where where);
  void mbarrier_arrive(const void* b, Release release, int expect_bytes, bool remote, Where where);
  void mbarrier_wait(const void* b, int parity, Acquire acquire, Where where);

  // ---- for the layer: the copy engine
  void fence_proxy_async(Where where);
  void bulk_load(void* shared, const void* global, int bytes, const void* mbarrier, Where where);
  void bulk_store(void* global, const void* shared, int bytes, Where where);
  void bulk_commit(Where where);
  void bulk_wait_read(Where where);
  void bulk_push(void* peer, const void* shared, int bytes, const void* peer_mbarrier, Where where);
  void store_async(void* peer, const void* value, int bytes, const void* peer_mbarrier, Where where);

 private:
  struct Thread;
  struct Cta;
  struct Warp;
  struct NamedBarrier;
  struct Mbarrier;
  struct Transfer;
  // A place in shared memory: whose, and where.
  struct Place {
    Cta* cta;
    std::size_t offset;
    unsigned char* data() const;
  };

  // machine.cpp: running
  void run_cluster(int index, const std::function<void()>& kernel);
  void reset_cta(int rank, int index);
  void reset_thread(int thread, const std::function<void()>& kernel);
  void loop();
  void end_thread(Thread& thread);
  void end_cta(Cta& cta);
  Thread& self() const;
  Cta& own_cta() const;
  void touch();  // maybe an interrupt
  void block(const char* what, const void* object, Where where);
  void wait_in(std::vector<int>& waiting, const char* what, const void* object, Where where);
  void wake(std::vector<int>& waiting);
  [[noreturn]] void fail(FaultKind kind, const std::string& text);
  std::string thread_name(int thread) const;
  std::string name_of_use(const char* what, Where where) const;  // by the running thread; begins a fault's text
  std::string agent_name(const Stamp& access) const;
  int threads() const { return launch_.block * launch_.cluster; }
  int warps_per_cta() const;
  int engine_agent(int slot) const { return threads() + slot; }
  std::string deadlock_report() const;
  std::string describe_mbarrier(const void* p, int parity) const;

  // memory.cpp: places and accesses
  Cta* find_cta(const void* p) const;
  Place aligned_place(Cta* cta, const void* p, std::size_t alignment, const char* what, Where where);
  Place own_place(const void* p, std::size_t bytes, std::size_t alignment, const char* what, Where where);
  // `now`: the thread itself uses the place; a transfer does so later, and is remembered by itself.
  Place peer_place(const void* p, std::size_t bytes, std::size_t alignment, const char* what, Where where,
                   bool now = true);
  int find_region(const void* p, std::size_t bytes, std::size_t alignment, bool write, const char* what, Where where);
  void access(Shadow& shadow, std::size_t first_byte, std::size_t bytes, bool write, const Stamp& stamp,
              const Clocks& before, const Clocks* unfenced, const char* memory, const Cta* cta);
  void load(Place place, void* value, std::size_t bytes, Where where);
  void store(Place place, const void* value, std::size_t bytes, Where where);
  void access_shared(Place place, std::size_t bytes, bool write, Where where);
  void access_global(int region, const void* p, std::size_t bytes, bool write, const Stamp& stamp, const Clocks& before,
                     const Clocks* unfenced);
  Stamp stamp_of_self(Where where) const;

  // barriers.cpp, mbarriers.cpp
  struct Arrival {
    NamedBarrier* barrier;
    std::uint64_t generation;  // the one that it counts for
    bool last_of_warp;
  };
  Arrival arrive(const char* what, int id, int threads, Where where);
  // Enters the warp's meeting at this instruction; true for the last of its lanes. Then: waits for that one.
  bool meet(Warp& warp, const char* what, int id, bool same_place, Where where);
  void wait_for_lanes(Warp& warp, bool last, const char* what, Where where);
  Warp& own_warp();
  int own_warp_lanes() const;
  void release(View& into);
  void acquire(const View& from);
  void advance();  // the thread's clock
  void finish_cluster_barrier();
  Mbarrier& find_mbarrier(Place place, const char* what, Where where);
  void check_initialised(const Mbarrier& b, bool by_engine, const char* what, Where where);
  void finish_phase(Mbarrier& b);

  // transfers.cpp
  Transfer& issue(const char* what, std::size_t bytes, Where where);
  void check_size(const char* what, int bytes, Where where);
  void complete(Mbarrier& b, const Transfer& transfer);
  void deliver(std::size_t index);
  void remember_touch(Cta& cta, int agent, std::uint32_t clock, Where where);

  LaunchConfig launch_;
  Fault fault_;
  std::vector<std::unique_ptr<Thread>> threads_;
  std::vector<std::unique_ptr<Cta>> ctas_;
  std::vector<Warp> warps_;
  std::vector<Shadow> global_;
  std::unique_ptr<Scheduler> scheduler_;
  int cluster_ = 0, live_ = 0, current_ = -1;
  std::uint64_t slice_ = 0, steps_ = 0;

  std::size_t width_ = 0;  // of the clocks: threads, then slots of transfers
  int slots_ = 0;
  std::vector<std::unique_ptr<Transfer>> transfers_;
  std::deque<int> free_slots_;  // a queue, so that a slot rests as long as possible
  std::vector<std::uint32_t> slot_clock_;
  std::vector<int> slot_issuer_;  // of its last transfer, for messages

  struct ClusterBarrier {
    int arrived = 0;
    std::uint64_t generation = 0;
    View gathered, done;
    Clocks inits, done_inits;
    std::vector<int> waiting;
  } cluster_barrier_;
};

// The one machine of this process.
Machine& machine();

}  // namespace vdn_delta::emulator
