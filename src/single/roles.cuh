// SPDX-License-Identifier: Apache-2.0
//
// The four roles of the single-CTA kernel. Each runs through the same matrices on its own, as far ahead as the
// barriers let it. Numbers are the steps of kernel.cu's timeline.
#pragma once

#include <cstdint>

#include "arch/barrier.cuh"
#include "arch/bulk_copy.cuh"
#include "arch/mbarrier.cuh"
#include "params.h"
#include "phases/pivot.cuh"
#include "phases/sweep.cuh"
#include "phases/sweep_stage.cuh"
#include "phases/turn.cuh"
#include "single/config.h"
#include "single/share.cuh"
#include "single/smem.h"

namespace vdn_delta::single {

// Bulk copies need 16-byte addresses; anything else goes through the threads' 4-byte accesses, with the same bits.
VDN_DEVICE bool can_bulk_copy(const float* in, const float* out) {
  return ((reinterpret_cast<std::uintptr_t>(in) | reinterpret_cast<std::uintptr_t>(out)) & 15) == 0;
}

VDN_DEVICE void sweep_staged(int team) { arch::barrier_sync<kStagedThreads>(kStaged + team); }
VDN_DEVICE void sweep_solved(int team) { arch::barrier_sync<kSolvedThreads>(kSolved + team); }

// A panel's place in the ring of H panels, and how often the ring has come round before it, modulo 2: the parity of the
// phases in which it is ready and has been used. Its place is free when the panel of the round before has been used.
struct RingPlace {
  unsigned place, round;
  VDN_DEVICE explicit RingPlace(unsigned panel) : place(panel % kPanels), round(panel / kPanels % 2) {}
  template <unsigned panels>
  VDN_DEVICE void advance() {
    place += panels % kPanels;
    round ^= panels / kPanels % 2;
    if (place >= kPanels) {
      arch::stay_branch();
      place -= kPanels;
      round ^= 1;
    }
  }
};

// A -> X -> T. The stage goes from team to team: turn `count` takes A of `count` out and puts T of count - 2 in; there
// are kTeams more turns than matrices.
VDN_DEVICE void sweep_role(Smem& smem, const Params& params, const Share& share, int team, int thread) {
  const int total = share.total();
  Team& mine = smem.team[team];
  tile::SweepTile tile;
  RingPlace at(static_cast<unsigned>(team) * kSteps);
  if (team == 0 && thread % 32 == 0 && can_bulk_copy(params.A, params.T)) {
    // The first A: nothing else is to be done yet, so all four warps copy.
    if (thread == 0) arch::mbarrier_arrive_expect(&mine.a_ready, phases::kSweepBytes);
    phases::sweep_bulk_load(smem.sweep_stage, params.A + matrix_offset(arch::block_index()), thread / 32, kSweepWarps,
                            &mine.a_ready);
  }
  arch::warp_sync();  // together again
  VDN_NO_UNROLL
  for (int count = team;; count += kTeams) {
    // 1: take A in, and put T of the matrix before out.
    {
      const bool in = count < total, out = count >= kTeams, bulk = can_bulk_copy(params.A, params.T);
      const int parity = count / kTeams % 2;
      const int m = matrix_of(share, count);
      // Opaque: else part of it is kept in registers through the steps.
      const int before = matrix_of(share, arch::opaque(count) - kTeams);
      if (in)
        arch::store_shared(mine.alpha[parity] + thread,
                           arch::load_global(params.alpha + static_cast<std::int64_t>(m) * kDim + thread));
      else if (!out)
        break;  // the second team of a CTA with one matrix
      if (bulk || count > 0) arch::mbarrier_wait(&mine.a_ready, parity ^ (bulk || team != 0 ? 0 : 1));
      if (!bulk && in) {
        phases::sweep_word_load(thread, smem.sweep_stage, params.A + matrix_offset(m));
        sweep_staged(team);
      }
      if (out && arch::load_shared(&smem.bad[(count - kTeams) % kBadRing]) != 0) {
        arch::stay_branch();
        phases::sweep_spoil(tile);
      }
      phases::sweep_exchange(tile, phases::SweepThread(arch::opaque(thread)), out, mine.alpha[parity ^ 1],
                             smem.sweep_stage, params.a_scale);
      const bool last = count > total;
      if (bulk) {
        arch::fence_before_bulk_copy();
        if (last) {  // the last T: nothing else is left to do, so all four warps copy
          sweep_staged(team);
          if (thread % 32 == 0 && !share.second(count - kTeams)) {
            phases::sweep_bulk_store(smem.sweep_stage, params.T + matrix_offset(before), thread / 32, kSweepWarps);
            arch::bulk_store_wait_read();
          }
        }
      } else if (out) {
        sweep_staged(team);
        if (!share.second(count - kTeams))
          phases::sweep_word_store(thread, smem.sweep_stage, params.T + matrix_offset(before));
      }
      if (!last) arch::mbarrier_arrive(&smem.t_ready);
      if (!in) break;
    }
    phases::sweep_publish(tile, phases::SweepThread(arch::opaque(thread)), 0, mine.c[0], mine.diag[1]);
    const int column_word = arch::opaque(phases::sweep_column_word(thread));
    unsigned turned = static_cast<unsigned>(thread) & phases::kTurnMask;
    // The panel before this one at its place is the other team's. Until that is there, the one before it, which was
    // this team's, may still be in use: h_free would be two phases behind, which looks like free. For later steps the
    // order of the injection sees to it.
    arch::mbarrier_wait(&smem.h_ready[at.place], at.round ^ 1);
    VDN_NO_UNROLL
    for (int s = 0; s < kSteps; ++s) {
      // 3: G and E of the step for the team, H for the injection.
      arch::mbarrier_arrive(&mine.panel_ready);
      arch::mbarrier_wait(&mine.panel_ready, s % 2);  // kSteps is even: the parity of the step is that of the phase
      phases::SweepSolve x;
      phases::sweep_solve(x, arch::opaque(thread), column_word, mine.c[s % 2], mine.pivot[s % 2], mine.g, mine.e);
      arch::mbarrier_wait(&smem.h_free[at.place], at.round ^ 1);
      phases::sweep_solve_h(x, arch::opaque(thread), turned, smem.h[at.place]);
      turned = (turned - 1) & phases::kTurnMask;
      arch::mbarrier_arrive(&smem.h_ready[at.place]);
      at.advance<1>();
      // 4: the update, and the next step's columns.
      sweep_solved(team);
      phases::sweep_update(tile, phases::SweepThread(arch::opaque(thread)), mine.g, mine.e);
      if (s + 1 < kSteps)
        phases::sweep_publish(tile, phases::SweepThread(arch::opaque(thread)), s + 1, mine.c[(s + 1) % 2],
                              mine.diag[s % 2]);
    }
    at.advance<(kTeams - 1) * kSteps>();
  }
}

// 6: A into the sweep's stage and T out of it, one thread; it hands the stage from turn to turn. Where the copy engine
// cannot be used, that is all.
VDN_DEVICE void copy_role(Smem& smem, const Params& params, const Share& share) {
  const int total = share.total();
  const bool bulk = can_bulk_copy(params.A, params.T);
  // The last turn copies by itself. A turn without A and T, the second of a CTA with one matrix, is left out.
  VDN_NO_UNROLL
  for (int count = 0; count <= total; ++count) {
    if (count < total || count >= kTeams) {
      arch::mbarrier_wait(&smem.t_ready, count % 2);  // A of this turn is out of the stage, T is in it
      if (bulk && count >= kTeams) {
        phases::sweep_bulk_store(smem.sweep_stage, params.T + matrix_offset(matrix_of(share, count - kTeams)), 0, 1);
        arch::bulk_store_wait_read();
      }
    }
    Team& next = smem.team[(count + 1) % kTeams];
    if (bulk && count + 1 < total) {
      arch::mbarrier_arrive_expect(&next.a_ready, phases::kSweepBytes);
      phases::sweep_bulk_load(smem.sweep_stage, params.A + matrix_offset(matrix_of(share, count + 1)), 0, 1,
                              &next.a_ready);
    } else {
      arch::mbarrier_arrive(&next.a_ready);  // no more input, or not by copies, but the stage is free
    }
  }
}

// 2: the pivot blocks of a team's matrices, one step ahead of it.
VDN_DEVICE void pivot_role(Smem& smem, const Params& params, const Share& share, int team, int lane) {
  Team& mine = smem.team[team];
  const int turns = kSteps * ((share.total() - team + kTeams - 1) / kTeams);
  VDN_NO_UNROLL
  for (int turn = 0; turn < turns; ++turn) {
    if (turn > 0) arch::mbarrier_wait(&mine.panel_ready, (turn - 1) & 1);
    const int s = turn & (kSteps - 1), count = team + static_cast<int>(static_cast<unsigned>(turn) / kSteps) * kTeams;
    const int m = matrix_of(share, count);
    int* flag = &smem.bad[count & (kBadRing - 1)];
    int bad = 0;
    phases::PivotPair block;
    if (s == 0) {
      block = phases::pivot_load(lane, params.A + matrix_offset(m), params.a_scale);
    } else {
      bad = arch::load_shared(flag);
      block = phases::pivot_form(lane, s, mine.diag[s % 2], mine.c[(s - 1) % 2], mine.pivot[(s - 1) % 2], mine.scratch);
    }
    phases::Pivots pivots;
    // Opaque: else the predicates of all k are made once, kept through all turns, and spilled.
    phases::pivot_factor(arch::opaque(lane), block, pivots, mine.pivot[s % 2]);
    bad = phases::pivot_bad(pivots, kStep * s + 1, bad);
    if (lane == 0) {
      arch::store_shared(flag, bad);
      if (s + 1 == kSteps && params.info != nullptr && !share.second(count)) arch::store_global(params.info + m, bad);
    }
    arch::mbarrier_arrive(&mine.panel_ready);
  }
}

// The 16 steps of a matrix; `aside` is called in step kPrefetchStep.
template <int pairs, class Aside>
VDN_DEVICE void inject_steps(Smem& smem, tile::TurnTileOf<pairs>& tile, int warp, int lane, RingPlace& at,
                             Aside aside) {
  phases::turn_publish(tile, phases::TurnThread(arch::opaque(lane)), smem.row[warp][0]);
  VDN_NO_UNROLL
  for (int s = 0; s < kSteps; ++s) {
    phases::turn_take(tile);
    arch::warp_sync();
    if (s == kPrefetchStep) aside();
    tile::TurnOperandsOf<pairs> x;
    phases::RowPanel& panel = smem.row[warp][s % 2];
    phases::turn_rows(x, phases::TurnThread(arch::opaque(lane)), panel);
    arch::mbarrier_wait(&smem.h_ready[at.place], at.round);
    phases::turn_update(tile, x, phases::TurnThread(arch::opaque(lane)), panel, smem.h[at.place], [&] {
      // H has been read. Behind the last step nobody wants what is published.
      arch::mbarrier_arrive(&smem.h_free[at.place]);
      phases::turn_publish(tile, phases::TurnThread(arch::opaque(lane)), smem.row[warp][(s + 1) % 2]);
    });
    at.advance<1>();
  }
}

// 5, of a shared matrix, the CTA's last: 16 rows for each warp, straight from B and to J, as nothing is behind it that
// the stage could be filled for. `at` is the place of its first panel.
VDN_DEVICE void half_role(Smem& smem, const Params& params, const Share& share, int warp, int lane, RingPlace& at) {
  constexpr int kPairs = tile::kTurnPairs / 2;
  const int part = warp + (share.second(share.waves) ? kInjectWarps : 0);
  const std::int64_t rows = matrix_offset(matrix_of(share, share.waves)) + part * (phases::kTurnWords / 2);
  tile::TurnTileOf<kPairs> tile;
  phases::turn_load(tile, phases::TurnThread(arch::opaque(lane)), params.B + rows, params.b_scale);
  inject_steps(smem, tile, warp, lane, at, [] {});
  if (arch::load_shared(&smem.bad[share.waves % kBadRing]) != 0) {
    arch::stay_branch();
    phases::turn_spoil(tile);
  }
  phases::turn_store(tile, phases::TurnThread(arch::opaque(lane)), params.J + rows);
}

// 5: B -> J, behind the sweep by as much as the ring of panels holds.
VDN_DEVICE void inject_role(Smem& smem, const Params& params, const Share& share, int warp, int lane) {
  const int total = share.total();
  const bool bulk = can_bulk_copy(params.B, params.J);
  // Found anew where they are wanted: the steps leave no registers to keep them in.
  const auto stage = [&]() -> phases::TurnStage& { return smem.inject_stage[arch::opaque(warp)]; };
  const auto b_ready = [&] { return &smem.b_ready[arch::opaque(warp)]; };
  const auto rows = [&](int count) {
    return matrix_offset(matrix_of(share, arch::opaque(count))) + arch::opaque(warp) * phases::kTurnWords;
  };
  tile::TurnTile tile;
  RingPlace at(0);
  if (bulk && lane == 0) phases::turn_bulk_load(stage(), params.B + rows(0), b_ready());
  VDN_NO_UNROLL
  for (int count = 0;; ++count) {
    const bool out = count > 0, in = count < total && !share.shared(count);
    if (in) {
      if (bulk) {
        arch::mbarrier_wait(b_ready(), count % 2);
      } else {
        phases::turn_word_load(lane, stage(), params.B + rows(count));
        arch::warp_sync();
      }
    }
    if (out && arch::load_shared(&smem.bad[(count - 1) % kBadRing]) != 0) {
      arch::stay_branch();
      phases::turn_spoil(tile);
    }
    phases::turn_exchange(tile, phases::TurnThread(arch::opaque(lane)), in, out, stage(), params.b_scale);
    arch::fence_before_bulk_copy();
    arch::warp_sync();
    if (out) {
      float* J = params.J + rows(count - 1);
      if (!bulk) {
        phases::turn_word_store(lane, stage(), J);
        arch::warp_sync();
      } else if (lane == 0) {
        phases::turn_bulk_store(stage(), J);
      }
    }
    if (!in) break;
    inject_steps(smem, tile, warp, lane, at, [&] {
      if (!bulk || lane != 0) return;
      arch::bulk_store_wait_read();  // frees the stage for the next B, or for the last J
      if (count + 1 < total && !share.shared(count + 1))
        phases::turn_bulk_load(stage(), params.B + rows(count + 1), b_ready());
    });
  }
  if (total > share.waves && share.halves) half_role(smem, params, share, warp, lane, at);
  if (bulk && lane == 0) arch::bulk_store_wait_read();
}

}  // namespace vdn_delta::single
