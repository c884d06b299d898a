// SPDX-License-Identifier: Apache-2.0
//
// What the phases exchange through shared memory: layouts and pitches. Plain C++.
#pragma once

#include "shape.h"

namespace vdn_delta::phases {

// Pitches in words. G, E, H, the row panels, pivot blocks and the pivot warps' scratch are read in 16-byte words, so
// that their pitches are multiples of 4; C, the diagonal blocks and the stages are read in shorter ones. C and row
// panels are written by threads that differ in k: 132 and 36 are 4 mod 32, which spreads the eight k over the banks.
constexpr int kHPitch = kDim;
constexpr int kCPitch = kDim + 4;
constexpr int kInjectWarpRows = 32;
constexpr int kRowPitch = kInjectWarpRows + 4;

struct alignas(16) HPanel {
  float word[kStep * kHPitch];  // [k][column_word(j)] = E_j[k]; H_j[k] in the order of who reads it
};
struct alignas(16) CPanel {
  float word[kStep * kCPitch];  // [k][row_word(i)] = C_i[k], or G_i[k], the rows' operand of the sweep
};
template <int pitch>
struct alignas(16) RowPanelOf {
  float word[kStep * pitch];  // [k][row of the warp] = C_row[k] of B's rows
};
using RowPanel = RowPanelOf<kRowPitch>;
// The sweep's stage holds A on the way in and T on the way out, two rows in a piece, so that one copy brings both.
// Pieces are 8 mod 32 words apart: eight rows by four columns are accesses to 16 banks, two ways.
constexpr int kSweepStagePitch = 2 * kDim + 8;
constexpr int sweep_stage_word(int row, int column) { return row / 2 * kSweepStagePitch + row % 2 * kDim + column; }
struct alignas(16) SweepStage {
  float word[kDim / 2 * kSweepStagePitch];
};
// A warp's rows, of which a turning tile's threads hold eight each: 8 mod 32 between those, for the banks.
constexpr int kTurnStagePitch = 8 * kDim + 8;
struct alignas(16) TurnStage {
  float word[4 * kTurnStagePitch];
};

// The pivot block S = L D L^T, L unit lower triangular.
struct alignas(16) PivotBlock {
  float w[kStep * kStep];  // [row][column]: L^-1, zeros above the diagonal, ones on it
  float d_inverse[kStep];  // 1 / d
};
// A diagonal block one step before it is eliminated, symmetric.
struct alignas(16) DiagBlock {
  float word[kStep * kStep];
};
constexpr int kGPitch = 12;  // 4 * odd: eight rows of 16-byte words in different banks
struct alignas(16) PivotScratch {
  float g[kStep * kGPitch];  // [row][k]
};

}  // namespace vdn_delta::phases
