// SPDX-License-Identifier: Apache-2.0
//
// src/arch/cluster.cuh, with delays on both sides of the cluster's barrier, and jitter around a peer's mbarriers.
#pragma once

#define cluster_arrive_relaxed cluster_arrive_relaxed_at_once
#define cluster_wait cluster_wait_at_once
#define mbarrier_arrive_peer mbarrier_arrive_peer_at_once
#define mbarrier_wait_peer mbarrier_wait_peer_at_once
#include "../../../../src/arch/cluster.cuh"
#undef mbarrier_wait_peer
#undef mbarrier_arrive_peer
#undef cluster_wait
#undef cluster_arrive_relaxed

#include "arch/delay.cuh"

namespace vdn_delta::arch {

VDN_DEVICE void cluster_arrive_relaxed() {
  delay_at(vdn_delays::kMeet);
  cluster_arrive_relaxed_at_once();
}

VDN_DEVICE void cluster_wait() {
  cluster_wait_at_once();
  delay_at(vdn_delays::kLeave);
}

VDN_DEVICE void mbarrier_arrive_peer(PeerAddress b) {
  jitter();
  mbarrier_arrive_peer_at_once(b);
}

VDN_DEVICE void mbarrier_wait_peer(Mbarrier* b, int parity) {
  mbarrier_wait_peer_at_once(b, parity);
  jitter();
}

}  // namespace vdn_delta::arch
