// SPDX-License-Identifier: Apache-2.0
//
// The machine itself, on small kernels: what is right passes under every schedule, what is wrong is found under every
// schedule, most of it as what it is.
#include "machine/machine.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace vdn_delta::emulator {
namespace {

// What the kernels share; the second CTA's lies beside the first's.
struct alignas(128) Smem {
  float x[64];
  float y[64];
  alignas(16) float block[64];
  std::uint64_t ready, free;
};

struct Grid {
  int block = 64, cluster = 1, clusters = 1;
  bool programmatic = false;
};

Machine& m() { return machine(); }
Smem& smem() { return *static_cast<Smem*>(m().dynamic_shared(sizeof(Smem), alignof(Smem))); }
template <class T>
T* peer(T* p, int rank) {
  return static_cast<T*>(m().peer(p, rank, here()));
}

void store(float* p, float v, Where where = here()) { m().write_shared(p, &v, 4, where); }
float load(const float* p, Where where = here()) {
  float v;
  m().read_shared(p, &v, 4, where);
  return v;
}
void store_global(float* p, float v, Where where = here()) {
  m().check_global_write(p, 4, where);
  *p = v;
}
float load_global(const float* p, Where where = here()) {
  m().check_global_read(p, 4, where);
  return *p;
}
void cta_sync(Where where = here()) { m().barrier_sync(0, 0, where); }
void init(std::uint64_t* b, int arrivals) { m().mbarrier_init(b, arrivals, here()); }
void arrive(std::uint64_t* b, int bytes = 0) { m().mbarrier_arrive(b, Release::kCta, bytes, false, here()); }
void wait(std::uint64_t* b, int parity) { m().mbarrier_wait(b, parity, Acquire::kCta, here()); }
void cluster_sync() {
  m().cluster_arrive(Release::kCluster, here());
  m().cluster_wait(Acquire::kCluster, here());
}

alignas(64) float in[256], out[256];

// Runs under every schedule, and keeps the first fault.
struct Verdict {
  FaultKind kind = FaultKind::kNone;
  std::string text;
  int found = 0, runs = 0, same_kind = 0;
};
template <class Kernel>
Verdict run(Grid grid, Kernel kernel) {
  m().settings.regions = {{"in", in, sizeof in, Region::kInput}, {"out", out, sizeof out, Region::kOutput}};
  m().settings.rcp_error = 0;
  LaunchConfig launch;
  launch.grid = grid.cluster * grid.clusters, launch.block = grid.block, launch.cluster = grid.cluster;
  launch.shared_bytes = sizeof(Smem), launch.programmatic = grid.programmatic;
  Verdict verdict;
  for (const Schedule& schedule : all_schedules(grid.cluster, (grid.block + 31) / 32, 8)) {
    m().settings.schedule = schedule;
    const Fault fault = m().run(launch, kernel);
    ++verdict.runs;
    if (!fault) continue;
    if (verdict.found++ == 0) verdict.kind = fault.kind, verdict.text = describe(schedule) + ": " + fault.text;
    if (fault.kind == verdict.kind) ++verdict.same_kind;
  }
  return verdict;
}

#define CHECK_RIGHT(verdict)           \
  do {                                 \
    const Verdict v = verdict;         \
    CAPTURE(v.text);                   \
    CHECK(v.kind == FaultKind::kNone); \
    CHECK(v.runs >= 16);               \
  } while (false)
// Found under every schedule, not only by luck; how it shows may depend on the schedule...
#define CHECK_WRONG(verdict)   \
  do {                         \
    const Verdict v = verdict; \
    CAPTURE(v.text);           \
    CHECK(v.found == v.runs);  \
  } while (false)
// ... or not.
#define CHECK_FAULT(verdict, expected)         \
  do {                                         \
    const Verdict v = verdict;                 \
    const std::string found = name_of(v.kind); \
    CAPTURE(v.text);                           \
    CHECK(found == name_of(expected));         \
    CHECK(v.same_kind == v.runs);              \
  } while (false)

TEST_CASE("machine: a CTA barrier orders, its lack is a race under every schedule") {
  const auto kernel = [](bool barrier) {
    return [barrier]() {
      Smem& s = smem();
      const int t = m().thread_index();
      store(&s.x[t], static_cast<float>(t));
      if (barrier) cta_sync();
      store_global(&out[t], load(&s.x[63 - t]));
    };
  };
  CHECK_RIGHT(run({}, kernel(true)));
  for (int t = 0; t < 64; ++t) REQUIRE(out[t] == static_cast<float>(63 - t));
  // Early readers find a word that nobody has written, late ones one that they are not ordered behind.
  CHECK_WRONG(run({}, kernel(false)));
}

TEST_CASE("machine: two writers, and a writer behind a reader") {
  CHECK_FAULT(run({}, []() { store(&smem().x[0], 1.0f); }), FaultKind::kRace);
  const auto reuse = [](bool barrier) {
    return [barrier]() {
      Smem& s = smem();
      const int t = m().thread_index();
      if (t == 0) store(&s.x[0], 1.0f);
      cta_sync();
      (void)load(&s.x[0]);
      if (barrier) cta_sync();
      if (t == 40) store(&s.x[0], 2.0f);
    };
  };
  CHECK_RIGHT(run({}, reuse(true)));
  CHECK_FAULT(run({}, reuse(false)), FaultKind::kRace);
}

TEST_CASE("machine: a fault names both places and both threads") {
  const Verdict v = run({}, []() {
    if (m().thread_index() == 3 || m().thread_index() == 35) store(&smem().x[7], 1.0f);
  });
  CAPTURE(v.text);
  CHECK(v.text.find("machine_test.cpp") != v.text.rfind("machine_test.cpp"));
  CHECK(v.text.find("thread 3 (warp 0, lane 3)") != std::string::npos);
  CHECK(v.text.find("thread 35 (warp 1, lane 3)") != std::string::npos);
  CHECK(v.text.find("byte 28") != std::string::npos);
}

TEST_CASE("machine: a word that nobody has written") {
  CHECK_FAULT(run({}, []() { (void)load(&smem().x[m().thread_index()]); }), FaultKind::kUnwritten);
}

TEST_CASE("machine: a warp barrier orders its lanes and nobody else; a shuffle orders nothing") {
  const auto kernel = [](int what) {
    return [what]() {
      Smem& s = smem();
      const int t = m().thread_index(), lane = t % 32;
      store(&s.x[t], 1.0f);
      if (what == 0) m().warp_sync(here());
      if (what == 1) (void)m().warp_shuffle(0, 0, here());
      if (what == 2) m().warp_sync(here());
      (void)load(&s.x[what == 2 ? (t + 32) % 64 : t - lane + 31 - lane]);
    };
  };
  CHECK_RIGHT(run({}, kernel(0)));
  CHECK_FAULT(run({}, kernel(1)), FaultKind::kRace);
  CHECK_WRONG(run({}, kernel(2)));
}

TEST_CASE("machine: shuffles give the lane's value") {
  CHECK_RIGHT(run({}, []() {
    const auto t = static_cast<std::uint32_t>(m().thread_index());
    std::uint32_t v = t;
    for (int i = 0; i < 5; ++i) v = m().warp_shuffle(v, static_cast<int>((t + 1) % 32), here());
    store_global(&out[t], static_cast<float>(v));
  }));
  for (int t = 0; t < 64; ++t) REQUIRE(out[t] == static_cast<float>(t / 32 * 32 + (t + 5) % 32));
}

TEST_CASE("machine: lanes of a warp that meet in different instructions, or with one that has ended") {
  CHECK_FAULT(run({},
                  []() {
                    if (m().thread_index() % 2 == 0) {
                      m().warp_sync(here());
                    } else {
                      (void)m().warp_shuffle(0, 0, here());
                    }
                  }),
              FaultKind::kBarrier);
  CHECK_WRONG(run({}, []() {
    if (m().thread_index() == 5) return;
    m().warp_sync(here());
  }));
}

TEST_CASE("machine: named barriers count, and join only those who take part") {
  const auto kernel = [](int second_count) {
    return [second_count]() {
      Smem& s = smem();
      const int t = m().thread_index();
      if (t < 64) store(&s.x[t], 1.0f);
      if (t < 64) m().barrier_sync(1, t < 32 ? 64 : second_count, here());
      if (t < 64) (void)load(&s.x[63 - t]);
    };
  };
  CHECK_RIGHT(run({96}, kernel(64)));
  CHECK_FAULT(run({96}, kernel(96)), FaultKind::kBarrier);
  CHECK_FAULT(run({96},
                  []() {
                    if (m().thread_index() < 64) m().barrier_sync(1, 96, here());
                  }),
              FaultKind::kDeadlock);
}

TEST_CASE("machine: who arrives at a named barrier without waiting gives, and takes nothing") {
  const auto kernel = [](int broken) {
    return [broken]() {
      Smem& s = smem();
      const int t = m().thread_index();
      for (int round = 0; round < 4; ++round) {
        if (t < 32) {
          store(&s.x[t], 1.0f);
          m().barrier_arrive(1, 64, here());
          if (broken != 1) m().barrier_sync(2, 64, here());
        } else {
          m().barrier_sync(1, 64, here());
          (void)load(&s.x[t - 32]);
          if (broken != 2) m().barrier_arrive(2, 64, here());
        }
      }
    };
  };
  CHECK_RIGHT(run({}, kernel(0)));
  CHECK_WRONG(run({}, kernel(1)));
  CHECK_FAULT(run({}, kernel(2)), FaultKind::kDeadlock);
}

TEST_CASE("machine: two groups that use one named barrier, one behind the other, have no order") {
  CHECK_FAULT(run({128},
                  []() {
                    Smem& s = smem();
                    const int t = m().thread_index();
                    if (t == 0) init(&s.ready, 64);
                    cta_sync();
                    if (t == 0) store(&s.x[0], 1.0f);
                    if (t >= 64) m().mbarrier_wait(&s.ready, 0, Acquire::kRelaxed, here());  // later, but in no order
                    m().barrier_sync(1, 64, here());
                    if (t < 64) m().mbarrier_arrive(&s.ready, Release::kRelaxed, 0, false, here());
                    if (t == 64) store(&s.x[0], 2.0f);
                  }),
              FaultKind::kRace);
}

TEST_CASE("machine: mbarriers by phases, over and over") {
  // Warp 0 writes, warp 1 reads, in eight rounds with one buffer.
  const auto kernel = [](int broken) {
    return [broken]() {
      Smem& s = smem();
      const int t = m().thread_index(), lane = t % 32;
      if (t == 0) init(&s.ready, 32), init(&s.free, 32);
      cta_sync();
      for (int round = 0; round < 8; ++round) {
        if (t < 32) {
          if (broken != 1) wait(&s.free, (round + 1) % 2);
          store(&s.x[lane], static_cast<float>(round));
          arrive(&s.ready);
        } else {
          wait(&s.ready, broken == 2 ? (round + 1) % 2 : round % 2);
          store_global(&out[round * 32 + lane], load(&s.x[31 - lane]));
          if (broken != 3) arrive(&s.free);
        }
      }
    };
  };
  CHECK_RIGHT(run({}, kernel(0)));
  for (int i = 0; i < 256; ++i) REQUIRE(out[i] == static_cast<float>(i / 32));
  CHECK_WRONG(run({}, kernel(1)));  // nobody waits for the buffer
  CHECK_WRONG(run({}, kernel(2)));  // the wrong parity
  CHECK_FAULT(run({}, kernel(3)), FaultKind::kDeadlock);
}

TEST_CASE("machine: mbarriers against their rules") {
  CHECK_FAULT(run({}, []() { arrive(&smem().ready); }), FaultKind::kBarrier);  // never made
  CHECK_WRONG(run({},
                  []() {  // made, but in no order with its use
                    if (m().thread_index() == 0) init(&smem().ready, 2);
                    m().warp_sync(here());
                    if (m().thread_index() == 32) arrive(&smem().ready);
                  }));
  CHECK_FAULT(run({},
                  []() {  // made twice
                    if (m().thread_index() != 0) return;
                    init(&smem().ready, 1);
                    init(&smem().ready, 1);
                  }),
              FaultKind::kBarrier);
  CHECK_FAULT(run({},
                  []() {  // used as a word
                    if (m().thread_index() == 0) {
                      init(&smem().ready, 1);
                      (void)load(reinterpret_cast<float*>(&smem().ready));
                    }
                  }),
              FaultKind::kBarrier);
  CHECK_FAULT(run({},
                  []() {  // more arrivals than it is for, while bytes are missing
                    if (m().thread_index() == 0) {
                      init(&smem().ready, 1);
                      arrive(&smem().ready, 16);
                      arrive(&smem().ready);
                    }
                  }),
              FaultKind::kBarrier);
}

TEST_CASE("machine: a deadlock says who waits for what") {
  const Verdict v = run({}, []() {
    Smem& s = smem();
    if (m().thread_index() == 0) init(&s.ready, 3);
    cta_sync();
    if (m().thread_index() == 1) arrive(&s.ready);
    if (m().thread_index() / 32 == 1) wait(&s.ready, 0);
  });
  CAPTURE(v.text);
  CHECK(v.kind == FaultKind::kDeadlock);
  CHECK(v.found == v.runs);
  CHECK(v.text.find("warp 1, 32 lanes from 0: an mbarrier at") != std::string::npos);
  CHECK(v.text.find("of the next 2 of 3 arrivals missing") != std::string::npos);
}

// in -> shared memory -> registers -> shared memory -> out, by the copy engine, twice with one buffer.
template <int broken>
void copies() {
  Smem& s = smem();
  const int t = m().thread_index();
  if (t == 0) {
    init(&s.ready, 1);
    if (broken != 1) m().mbarrier_fence_init(here());
  }
  cta_sync();
  for (int round = 0; round < 2; ++round) {
    if (t == 0) {
      arrive(&s.ready, broken == 2 ? 272 : 256);
      m().bulk_load(s.block, in + 64 * round, broken == 3 ? 252 : 256, &s.ready, here());
    }
    if (broken != 4) wait(&s.ready, round % 2);
    store(&s.block[t], 2.0f * load(&s.block[t]));
    if (broken != 5) m().fence_proxy_async(here());
    if (broken != 6) cta_sync();
    if (t == 0) {
      m().bulk_store(out + 64 * round, s.block, 256, here());
      if (broken != 7) m().bulk_commit(here());
      if (broken != 8) m().bulk_wait_read(here());
    }
  }
}

// The maker's fence, and who is behind it.
TEST_CASE("machine: a fence for mbarriers counts for those who are behind it") {
  const auto kernel = [](bool late) {
    return [late]() {
      Smem& s = smem();
      const int t = m().thread_index();
      if (t == 0) {
        init(&s.ready, 1);
        if (!late) m().mbarrier_fence_init(here());
      }
      cta_sync();
      if (t == 0 && late) m().mbarrier_fence_init(here());
      if (t == 32) {
        arrive(&s.ready, 256);
        m().bulk_load(s.block, in, 256, &s.ready, here());
        wait(&s.ready, 0);
      }
    };
  };
  CHECK_RIGHT(run({}, kernel(false)));
  CHECK_FAULT(run({}, kernel(true)), FaultKind::kProxy);
}

TEST_CASE("machine: bulk copies in and out") {
  for (int i = 0; i < 256; ++i) in[i] = static_cast<float>(i);
  std::fill(out, out + 256, -1.0f);
  CHECK_RIGHT(run({}, copies<0>));
  for (int i = 0; i < 128; ++i) REQUIRE(out[i] == static_cast<float>(2 * i));
  CHECK_FAULT(run({}, copies<1>), FaultKind::kProxy);
  CHECK_FAULT(run({}, copies<2>), FaultKind::kDeadlock);
  CHECK_FAULT(run({}, copies<3>), FaultKind::kAlignment);
  CHECK_WRONG(run({}, copies<4>));
  CHECK_FAULT(run({}, copies<5>), FaultKind::kProxy);
  CHECK_FAULT(run({}, copies<6>), FaultKind::kRace);
  CHECK_WRONG(run({}, copies<7>));  // what was not committed is not waited for
  CHECK_WRONG(run({}, copies<8>));
}

TEST_CASE("machine: a store that has read its source has not yet written") {
  CHECK_FAULT(run({32},
                  []() {
                    Smem& s = smem();
                    store(&s.block[m().thread_index()], 1.0f);
                    m().fence_proxy_async(here());
                    cta_sync();
                    if (m().thread_index() != 0) return;
                    m().bulk_store(out, s.block, 128, here());
                    m().bulk_commit(here());
                    m().bulk_wait_read(here());
                    store(&s.block[0], 2.0f);     // may be overwritten
                    store_global(&out[0], 3.0f);  // may not
                  }),
              FaultKind::kRace);
}

TEST_CASE("machine: the end of a CTA waits for its copies") {
  const auto kernel = [](bool waits) {
    return [waits]() {
      Smem& s = smem();
      if (m().thread_index() != 0) return;
      init(&s.ready, 1);
      m().mbarrier_fence_init(here());
      arrive(&s.ready, 256);
      m().bulk_load(s.block, in, 256, &s.ready, here());
      if (waits) wait(&s.ready, 0);
    };
  };
  CHECK_RIGHT(run({}, kernel(true)));
  CHECK_FAULT(run({}, kernel(false)), FaultKind::kExit);
}

TEST_CASE("machine: global memory has bounds, directions and an owner for each word") {
  CHECK_FAULT(run({}, []() { (void)load_global(in + 256 * m().block_count()); }), FaultKind::kBounds);
  CHECK_FAULT(run({}, []() { store_global(in, 1.0f); }), FaultKind::kPermission);
  CHECK_FAULT(run({}, []() { (void)load_global(out); }), FaultKind::kPermission);
  CHECK_FAULT(run({}, []() { store_global(out, 1.0f); }), FaultKind::kRace);
  CHECK_FAULT(run({32, 1, 2}, []() { store_global(out + m().thread_index(), 1.0f); }), FaultKind::kRace);
  CHECK_RIGHT(run({32, 1, 2}, []() { store_global(out + m().thread_index() + 32 * m().block_index(), 1.0f); }));
}

TEST_CASE("machine: shared memory has bounds and alignment") {
  CHECK_FAULT(run({}, []() { store(&smem().x[0] + sizeof(Smem) / 4, 1.0f); }), FaultKind::kBounds);
  CHECK_FAULT(run({},
                  []() {
                    float v[4];
                    m().read_shared(&smem().x[1], v, 16, here());
                  }),
              FaultKind::kAlignment);
  CHECK_FAULT(run({}, []() { (void)m().dynamic_shared(sizeof(Smem) + 4, 4); }), FaultKind::kBounds);
}

TEST_CASE("machine: a programmatic launch waits before it touches global memory") {
  const auto kernel = [](bool waits) {
    return [waits]() {
      if (waits) m().wait_for_predecessor();
      store_global(out + m().thread_index(), load_global(in));
    };
  };
  Grid grid;
  grid.programmatic = true;
  CHECK_RIGHT(run(grid, kernel(true)));
  CHECK_FAULT(run(grid, kernel(false)), FaultKind::kPredecessor);
  CHECK_RIGHT(run({}, kernel(false)));
}

// ---- clusters

TEST_CASE("machine: peers' memory between two cluster barriers") {
  const auto kernel = [](int broken) {
    return [broken]() {
      Smem& s = smem();
      const int t = m().thread_index(), other = 1 - m().cluster_rank();
      if (broken != 1) cluster_sync();  // the peer has started
      float* there = peer(&s.x[t], other);
      const float v = static_cast<float>(100 * m().block_index() + t);
      m().write_peer(there, &v, 4, here());
      if (broken == 2) {
        m().cluster_arrive(Release::kRelaxed, here());
        m().cluster_wait(Acquire::kCluster, here());
      } else if (broken != 3) {
        cluster_sync();
      }
      store_global(&out[64 * m().block_index() + t], load(&s.x[t]));
    };
  };
  CHECK_RIGHT(run({64, 2}, kernel(0)));
  for (int i = 0; i < 128; ++i) REQUIRE(out[i] == static_cast<float>(i < 64 ? 100 + i : i - 64));
  CHECK_FAULT(run({64, 2}, kernel(1)), FaultKind::kBarrier);
  CHECK_FAULT(run({64, 2}, kernel(2)), FaultKind::kRace);
  CHECK_WRONG(run({64, 2}, kernel(3)));
}

TEST_CASE("machine: nobody leaves while a peer may still come") {
  const auto kernel = [](bool stays) {
    return [stays]() {
      Smem& s = smem();
      const int t = m().thread_index();
      store(&s.x[t], 1.0f);
      cluster_sync();
      if (m().cluster_rank() == 0) {
        float* there = peer(&s.x[t], 1);
        float v;
        m().read_peer(there, &v, 4, here());
        store_global(&out[t], v);
      }
      if (stays) cluster_sync();
    };
  };
  CHECK_RIGHT(run({64, 2}, kernel(true)));
  CHECK_FAULT(run({64, 2}, kernel(false)), FaultKind::kExit);
}

// CTA 0 pushes a block into CTA 1, by asynchronous stores or by one bulk copy, and CTA 1 takes it twice.
template <bool bulk, int broken>
void push() {
  Smem& s = smem();
  const int t = m().thread_index();
  if (t == 0) {
    init(&s.ready, 1);
    init(&s.free, broken == 2 ? 1 : 64);
    if (broken != 1) m().mbarrier_fence_init(here());
  }
  cluster_sync();
  for (int round = 0; round < 3; ++round) {
    if (m().cluster_rank() == 0) {
      // Its own copy of `free` says that CTA 1 has taken the last block.
      if (broken != 3) m().mbarrier_wait(&s.free, (round + 1) % 2, Acquire::kCluster, here());
      const float v = static_cast<float>(1000 * round + t);
      if (bulk) {
        store(&s.block[t], v);
        if (broken != 4) m().fence_proxy_async(here());
        cta_sync();
        if (t == 0) m().bulk_push(peer(s.block, 1), s.block, 256, peer(&s.ready, 1), here());
      } else {
        m().store_async(peer(&s.block[t], 1), &v, 4, peer(&s.ready, 1), here());
      }
    } else {
      if (t == 0) arrive(&s.ready, 256);
      m().mbarrier_wait(&s.ready, round % 2, broken == 7 ? Acquire::kCta : Acquire::kCluster, here());
      store_global(&out[64 * round + t], load(&s.block[63 - t]));
      m().mbarrier_arrive(peer(&s.free, 0), broken == 5 ? Release::kCta : Release::kCluster, 0, true, here());
    }
  }
  if (broken != 6) cluster_sync();
}

TEST_CASE("machine: blocks pushed to a peer, by st.async") {
  CHECK_RIGHT(run({64, 2}, push<false, 0>));
  for (int i = 0; i < 192; ++i) REQUIRE(out[i] == static_cast<float>(i / 64 * 1000 + 63 - i % 64));
  CHECK_RIGHT(run({64, 2}, push<false, 1>));  // the copy engine has no part in it
  CHECK_RIGHT(run({64, 2}, push<false, 4>));
  CHECK_WRONG(run({64, 2}, push<false, 2>));
  CHECK_WRONG(run({64, 2}, push<false, 3>));
  CHECK_FAULT(run({64, 2}, push<false, 5>), FaultKind::kRace);
  CHECK_WRONG(run({64, 2}, push<false, 7>));  // a wait at CTA scope
}

TEST_CASE("machine: blocks pushed to a peer, by bulk copies") {
  CHECK_RIGHT(run({64, 2}, push<true, 0>));
  for (int i = 0; i < 192; ++i) REQUIRE(out[i] == static_cast<float>(i / 64 * 1000 + 63 - i % 64));
  CHECK_RIGHT(run({64, 2}, push<true, 1>));  // the fence before the copy serves for the mbarrier too
  CHECK_FAULT(run({64, 2}, push<true, 4>), FaultKind::kProxy);
  CHECK_FAULT(run({64, 2}, push<true, 5>), FaultKind::kRace);
}

TEST_CASE("machine: what st.async has written is not fenced for the copy engine") {
  const auto kernel = [](bool fence) {
    return [fence]() {
      Smem& s = smem();
      const int t = m().thread_index();
      if (t == 0) {
        init(&s.ready, 1);
        m().mbarrier_fence_init(here());
      }
      cluster_sync();
      const float v = 1.0f;
      if (m().cluster_rank() == 0) m().store_async(peer(&s.block[t], 1), &v, 4, peer(&s.ready, 1), here());
      if (m().cluster_rank() == 1 && t == 0) {
        arrive(&s.ready, 256);
        m().mbarrier_wait(&s.ready, 0, Acquire::kCluster, here());
        if (fence) m().fence_proxy_async(here());
        m().bulk_store(out, s.block, 256, here());
        m().bulk_commit(here());
        m().bulk_wait_read(here());
      }
      cluster_sync();
    };
  };
  CHECK_RIGHT(run({64, 2}, kernel(true)));
  CHECK_FAULT(run({64, 2}, kernel(false)), FaultKind::kProxy);
}

TEST_CASE("machine: the cluster's barrier against its rules") {
  CHECK_FAULT(run({64, 2}, []() { m().cluster_wait(Acquire::kCluster, here()); }), FaultKind::kBarrier);
  CHECK_FAULT(run({64, 2},
                  []() {
                    m().cluster_arrive(Release::kCluster, here());
                    m().cluster_arrive(Release::kCluster, here());
                  }),
              FaultKind::kBarrier);
  CHECK_RIGHT(run({64, 2}, []() {  // those that have ended are not counted
    if (m().thread_index() >= 32) return;
    cluster_sync();
  }));
}

// ---- the same run again

TEST_CASE("machine: a schedule repeats itself") {
  const auto kernel = []() {
    Smem& s = smem();
    const int t = m().thread_index();
    for (int i = 0; i < 8; ++i) {
      store(&s.x[t], 1.0f);
      cta_sync();
      (void)load(&s.x[63 - t]);
      cta_sync();
    }
  };
  LaunchConfig launch;
  launch.block = 64, launch.shared_bytes = sizeof(Smem);
  m().settings.regions.clear();
  m().settings.schedule = Schedule();
  m().settings.schedule.order = Order::kRandom;
  std::vector<std::uint64_t> switches;
  for (const std::uint64_t seed : {7u, 7u, 8u}) {
    m().settings.schedule.seed = seed;
    REQUIRE_FALSE(m().run(launch, kernel));
    switches.push_back(m().statistics.switches);
  }
  CHECK(switches[0] == switches[1]);
  CHECK(switches[0] != switches[2]);
}

TEST_CASE("machine: a kernel without an end") {
  LaunchConfig launch;
  launch.shared_bytes = sizeof(Smem);
  m().settings.regions.clear();
  m().settings.schedule = Schedule();
  const Fault fault = m().run(launch, []() {
    for (;;) store(&smem().x[m().thread_index()], 1.0f);
  });
  CAPTURE(fault.text);
  CHECK(fault.kind == FaultKind::kDeadlock);
}

TEST_CASE("machine: what a kernel throws comes out of the run, and the next run is as usual") {
  LaunchConfig launch;
  m().settings.regions.clear();
  CHECK_THROWS_AS(m().run(launch, []() { throw 1; }), int);
  CHECK_FALSE(m().run(launch, []() {}));
}

TEST_CASE("machine: launches that no device allows") {
  LaunchConfig launch;
  launch.block = 2048;
  CHECK(m().run(launch, []() {}).kind == FaultKind::kLaunch);
  launch.block = 32, launch.grid = 3, launch.cluster = 2;
  CHECK(m().run(launch, []() {}).kind == FaultKind::kLaunch);
  launch.grid = 2, launch.shared_bytes = 228 * 1024;
  CHECK(m().run(launch, []() {}).kind == FaultKind::kLaunch);
}

}  // namespace
}  // namespace vdn_delta::emulator
