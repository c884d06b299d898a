// SPDX-License-Identifier: Apache-2.0
//
// src/arch/cluster.cuh for the emulator.
#pragma once

#include "arch/mbarrier.cuh"
#include "arch/target.cuh"

namespace vdn_delta::arch {

inline int cluster_rank() { return machine().cluster_rank(); }
inline void cluster_arrive_relaxed(Where where = here()) {
  machine().cluster_arrive(emulator::Release::kRelaxed, where);
}
inline void cluster_wait(Where where = here()) { machine().cluster_wait(emulator::Acquire::kCluster, where); }

struct PeerAddress {
  unsigned char* value;
};
inline PeerAddress peer_address(const void* p, int rank, Where where = here()) {
  return {static_cast<unsigned char*>(machine().peer(p, rank, where))};
}
inline PeerAddress operator+(PeerAddress a, int bytes) { return {a.value + bytes}; }

inline void store_peer(PeerAddress p, float v, PeerAddress b, Where where = here()) {
  machine().store_async(p.value, &v, sizeof v, b.value, where);
}
inline void store_peer(PeerAddress p, int v, PeerAddress b, Where where = here()) {
  machine().store_async(p.value, &v, sizeof v, b.value, where);
}
inline void mbarrier_arrive_peer(PeerAddress b, Where where = here()) {
  machine().mbarrier_arrive(b.value, emulator::Release::kCluster, 0, true, where);
}
inline void mbarrier_wait_peer(Mbarrier* b, int parity, Where where = here()) {
  machine().mbarrier_wait(b, parity, emulator::Acquire::kCluster, where);
}

}  // namespace vdn_delta::arch
