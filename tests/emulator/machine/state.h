// SPDX-License-Identifier: Apache-2.0
//
// What the machine knows about a cluster while it runs: private to the files of this folder.
#pragma once

#include <memory>

#include "machine.h"

namespace vdn_delta::emulator {

constexpr int kWarpSize = 32;
constexpr std::size_t kMbarrierBytes = 8;
constexpr int kSharedLimit = 227 * 1024;  // dynamic shared memory of a CTA, and its threads: sm_90 and sm_100
constexpr int kThreadLimit = 1024;
// Transfers of a cluster that can be under way at once: each is an agent with a clock. Bulk copies are some hundreds
// for a matrix; with asynchronous stores to a peer each word is one, a thousand for a step.
constexpr int kSlotsAlone = 384;
constexpr int kSlotsOfCluster = 1536;

struct Machine::Thread {
  Fiber fiber;
  int cta = 0, index = 0;  // in the cluster, in the CTA
  bool alive = false, predecessor_done = false;
  int cluster_barriers = 0;           // passed
  std::uint64_t cluster_arrived = 0;  // generation arrived at, plus one
  View view;
  // What cluster barriers with relaxed arrivals have told it: good for fenced mbarrier initialisations only.
  Clocks inits;
  std::shared_ptr<const View> snapshot;  // of `view`, for the transfers that it issues; null when out of date
  // What it waits for.
  const char* what = "";
  const void* object = nullptr;
  Where where;
  int parity = 0;
  // Bulk stores: not yet committed, committed and not yet waited for; slot and time of each one's reads.
  struct Store {
    int slot;
    std::uint32_t read_clock;
    Where where;
  };
  std::vector<Store> open_stores, stores;
};

struct Machine::Warp {
  const char* what = nullptr;  // the instruction at which its lanes are meeting
  int id = 0;
  Where where;
  int arrived = 0;
  std::uint64_t meetings = 0;
  std::vector<int> waiting;
  std::uint32_t value[kWarpSize] = {}, result[kWarpSize] = {};
  View gathered, done;
};

struct Machine::NamedBarrier {
  int threads = 0, arrived = 0;
  std::uint64_t generation = 0;
  Where where;
  std::vector<int> waiting;
  View gathered, last;  // by the arrivals of this generation; of the one that is complete
};

struct Machine::Mbarrier {
  int cta = 0;
  Stamp init;
  std::uint32_t init_fence = 0;  // when its maker fenced it for the copy engine, by the maker's clock; 0: not
  int expected = 0, pending = 0;
  std::int64_t bytes = 0;
  std::uint64_t phase = 0;  // phases completed
  std::vector<int> waiting;
  // Of the current phase and of the last completed one: what was released to everybody in the CTA, and what only a wait
  // at cluster scope may rely on.
  View gathered, done, remote_gathered, remote_done;
};

struct Machine::Cta {
  int rank = 0, index = 0, live = 0;
  bool ended = false;
  // The kernel's addresses, pages that cannot be touched: an access past arch/ ends the program. What they hold is in
  // `data`, at the same offsets.
  unsigned char* shared = nullptr;
  std::vector<unsigned char> data;
  std::size_t bytes = 0;
  Shadow shadow;
  std::unordered_map<std::size_t, Mbarrier> mbarriers;  // by offset
  std::vector<NamedBarrier> barriers;
  // Agents from outside (peers, transfers) that have used this CTA's shared memory: their last time.
  std::vector<Stamp> touched;
  Clocks end;  // what the ends of its threads come after
};

inline unsigned char* Machine::Place::data() const { return cta->data.data() + offset; }

struct Machine::Transfer {
  const char* what = "";
  int issuer = 0, slot = 0;
  // Its own times: it reads first, and writes later.
  std::uint32_t read_clock = 0, write_clock = 0;
  Where where;
  std::shared_ptr<const View> view;  // of the issuer then
  bool by_engine = true;             // or by the thread's own path (st.async), which needs no fence
  Cta *from = nullptr, *to = nullptr;
  std::size_t from_offset = 0, to_offset = 0;
  const void* from_global = nullptr;
  void* to_global = nullptr;
  int from_region = -1, to_region = -1;
  std::size_t bytes = 0;
  Mbarrier* barrier = nullptr;
  std::vector<unsigned char> value;  // of st.async
};

}  // namespace vdn_delta::emulator
