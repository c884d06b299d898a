// SPDX-License-Identifier: Apache-2.0
//
// Thread-block clusters: ranks, the cluster's barrier, and pushes into a peer's shared memory. A push carries its own
// signal: the bytes count towards a phase of a barrier beside the data, and who waits for that phase sees the data.
// https://docs.nvidia.com/cuda/parallel-thread-execution/ "barrier.cluster", "mapa", "st.async", "mbarrier.arrive"
#pragma once

#include "arch/mbarrier.cuh"
#include "arch/target.cuh"

namespace vdn_delta::arch {

VDN_DEVICE int cluster_rank() {
  int rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

// All threads of the cluster arrive and wait, in two halves. Neither is "aligned": the lanes of a warp may come one
// after the other. The arrival orders nothing, for who has nothing to show to the others but fenced initialisations of
// mbarriers: releasing would wait for all stores to global memory.
VDN_DEVICE void cluster_arrive_relaxed() { asm volatile("barrier.cluster.arrive.relaxed;" ::: "memory"); }
VDN_DEVICE void cluster_wait() { asm volatile("barrier.cluster.wait.acquire;" ::: "memory"); }

// A place in the shared memory of the CTA of rank `rank` of this cluster: the same place as p in one's own.
struct PeerAddress {
  unsigned value;
};
VDN_DEVICE PeerAddress peer_address(const void* p, int rank) {
  PeerAddress address;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(address.value) : "r"(shared_address(p)), "r"(rank));
  return address;
}
VDN_DEVICE PeerAddress operator+(PeerAddress a, int bytes) { return {a.value + static_cast<unsigned>(bytes)}; }

// Stores one word in the background; its four bytes count towards the phase of `b`, which lies in the same CTA.
VDN_DEVICE void store_peer(PeerAddress p, float v, PeerAddress b) {
  asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];" ::"r"(p.value),
               "r"(__float_as_int(v)), "r"(b.value)
               : "memory");
}
VDN_DEVICE void store_peer(PeerAddress p, int v, PeerAddress b) {
  asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];" ::"r"(p.value), "r"(v),
               "r"(b.value)
               : "memory");
}

// Arrives at a peer's barrier; release at cluster scope.
VDN_DEVICE void mbarrier_arrive_peer(PeerAddress b) {
  asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(b.value) : "memory");
}

// As mbarrier_wait, for phases that a peer completes: acquire at cluster scope.
VDN_DEVICE void mbarrier_wait_peer(Mbarrier* b, int parity) {
  asm volatile(
      "{\n"
      ".reg .pred done;\n"
      "again:\n"
      "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%0], %1;\n"
      "@done bra over;\n"
      "bra again;\n"
      "over:\n"
      "}\n" ::"r"(shared_address(b)),
      "r"(parity)
      : "memory");
}

}  // namespace vdn_delta::arch
