// SPDX-License-Identifier: Apache-2.0
//
// Delays where CTAs and warps meet (ARC-02): a copy of every kernel, compiled with arch/ functions that hold up one
// rank of each cluster for a millisecond, at its entry, before it meets the other and when it leaves; and one that
// holds up any warp at any barrier. The bits stay what they are. The emulator does the same with schedules; this is the
// machine.
#include "delays/delays.h"
#include "periodic.h"

namespace vdn_delays {
namespace {

const Room*& first() {
  static const Room* room = nullptr;
  return room;
}

}  // namespace

const Room* rooms() { return first(); }

Entered::Entered(Room* room) {
  room->next = first();
  first() = room;
}

}  // namespace vdn_delays

namespace vdn_delta::test {
namespace {

using vdn_delays::Delays;

const vdn_delays::Room& delayed_room(const Variant& variant) {
  const vdn_delays::Room* room = vdn_delays::rooms();
  while (room != nullptr && variant.name != room->name) room = room->next;
  REQUIRE(room != nullptr);
  return *room;
}

// One launch of the delayed copy; milliseconds that it took.
float launch_delayed(const Periodic& arrays, std::int64_t n, int units, const vdn_delays::Room& room,
                     const Delays& delays) {
  Stream stream;
  cudaEvent_t begin = nullptr, end = nullptr;
  VDN_CUDA(room.set(delays, stream));
  VDN_CUDA(cudaEventCreate(&begin));
  VDN_CUDA(cudaEventCreate(&end));
  const Params params{arrays.A().as<float>(),
                      arrays.B().as<float>(),
                      arrays.alpha().as<float>(),
                      arrays.T().as<float>(),
                      arrays.J().as<float>(),
                      arrays.info().as<std::int32_t>(),
                      n,
                      1.0f,
                      1.0f};
  VDN_CUDA(cudaEventRecord(begin, stream));
  VDN_CUDA(room.launch(&params, units, stream));
  VDN_CUDA(cudaEventRecord(end, stream));
  finish(stream);
  float ms = 0;
  VDN_CUDA(cudaEventElapsedTime(&ms, begin, end));
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  return ms;
}

TEST_CASE("ARC-02 device delays: each rank in turn, at entry, where they meet, and at exit") {
  const std::int64_t n = quick() ? 2 : 64;
  const unsigned nanoseconds = 1000000;
  const Batch period = period_batch(191);
  const Result expected = run(period, call_of(variants().front()));
  Periodic arrays(period, n);
  for (const Variant& variant : variants()) {
    CAPTURE(variant.name);
    const vdn_delays::Room& room = delayed_room(variant);
    const bool has_cluster = row_of(variant).cluster > 1;
    const std::int64_t resident = resident_units(variant);
    // As many units as matrices, and a few units with several matrices each.
    for (const std::int64_t units : {std::min(n, resident), std::int64_t{1}, std::int64_t{5}}) {
      if (units > n || (quick() && units != 1)) continue;
      CAPTURE(units);
      for (const int place : {vdn_delays::kNowhere, vdn_delays::kEntry, vdn_delays::kMeet, vdn_delays::kLeave}) {
        for (const int rank : {0, 1}) {
          if (quick() && (rank == 0 || place == vdn_delays::kNowhere)) continue;
          CAPTURE(place);
          CAPTURE(rank);
          arrays.poison();
          const float ms = launch_delayed(arrays, n, static_cast<int>(units), room, {place, rank, nanoseconds, 0, 0});
          CHECK(arrays.count_wrong(n, expected) == 0);
          // The delay was there: or else this test would say nothing.
          const bool is_met = place == vdn_delays::kEntry ? (rank == 0 || has_cluster || units > 1)
                                                          : place != vdn_delays::kNowhere && has_cluster;
          CAPTURE(ms);
          if (is_met) CHECK(ms >= 0.9f);
        }
      }
    }
  }
}

TEST_CASE("ARC-02 device delays: any warp at any barrier") {
  const std::int64_t n = quick() ? 3 : 200;
  const Batch period = period_batch(192);
  const Result expected = run(period, call_of(variants().front()));
  Periodic arrays(period, n);
  for (const Variant& variant : variants()) {
    CAPTURE(variant.name);
    const vdn_delays::Room& room = delayed_room(variant);
    const int units = static_cast<int>(std::min(n, resident_units(variant)));
    for (const unsigned jitter : {3000u, 300u, 30000u}) {
      if (quick() && jitter != 3000u) continue;
      for (unsigned seed = 1; seed <= (quick() ? 1u : 8u); ++seed) {
        CAPTURE(jitter);
        CAPTURE(seed);
        arrays.poison();
        launch_delayed(arrays, n, units, room, {vdn_delays::kNowhere, 0, 0, jitter, seed});
        CHECK(arrays.count_wrong(n, expected) == 0);
      }
    }
  }
}

}  // namespace
}  // namespace vdn_delta::test
