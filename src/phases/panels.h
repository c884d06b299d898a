// SPDX-License-Identifier: Apache-2.0
//
// What the phases exchange through shared memory: layouts and pitches. Plain C++.
#pragma once

#include "shape.h"

namespace vdn_delta::phases {

// Pitches in words. A C panel is written by threads that differ in k and r at once: 132 = 4 mod 32 spreads the eight k of
// a quarter warp over all banks for 16-byte stores. A row panel likewise: 20 k mod 32 = 0 20 8 28 16 4 24 12.
constexpr int kHPitch = kDim;
constexpr int kCPitch = kDim + 4;
constexpr int kRowPitch = 20;
// The sweep's stage holds A on the way in and T on the way out, row by row; 132 makes T's transposed half free of
// conflicts (4 c + r for eight c and four r). The injection's stage is a plain copy of the matrix.
constexpr int kSweepStagePitch = kDim + 4;

struct SweepStage {
  float word[kDim * kSweepStagePitch];
};
struct InjectStage {
  float word[kElements];
};

struct HPanel {
  float word[kStep * kHPitch];  // [k][panel_word(j)] = H_j[k], the columns' operand
};
struct CPanel {
  float word[kStep * kCPitch];  // [k][panel_word(i)] = C_i[k], the rows' operand
};
struct RowPanel {
  float word[kStep * kRowPitch];  // [k][row of the warp, 0..15] = C_row[k] of B's rows
};

// The pivot block S = L D L^T, L unit lower triangular.
struct PivotBlock {
  float w[kStep * kStep];  // [row][column]: L^-1, zeros above the diagonal, ones on it
  float d_inverse[kStep];  // 1 / d
};
// A diagonal block one step before it is eliminated, symmetric.
struct DiagBlock {
  float word[kStep * kStep];
};
struct PivotScratch {
  float g[kStep * 12];  // [row][k]; pitch 12 = 4 * odd: eight rows of 16-byte words in different banks
};
constexpr int kGPitch = 12;

}  // namespace vdn_delta::phases
