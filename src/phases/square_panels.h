// SPDX-License-Identifier: Apache-2.0
//
// What the phases of phases/square.cuh exchange through shared memory: layouts and pitches. Plain C++.
#pragma once

#include "phases/panels.h"
#include "shape.h"

namespace vdn_delta::phases {

// Where index i = a + 16 b lies in a panel of 128 words: a thread's eight are two runs of four.
constexpr int square_word(int a, int b) { return b / 4 * 64 + 4 * a + b % 4; }
constexpr int kSquarePitch = 128;  // of G and E: a warp stores 32 neighbouring words
struct alignas(16) SquarePanel {
  float word[kStep * kSquarePitch];  // G: [k][square_word(i)]; E: [k][square_word(i) ^ 1]
};
// C: the eight k of a row together, rows in the order of square_word, four words of skew behind each four rows.
constexpr int square_row(int w) { return 8 * w + w / 4 * 4; }
struct alignas(16) SquareC {
  float word[8 * kDim + kDim];
};
// W and 1 / d as the solve wants them: for each half of the eight k, the multipliers in order of use and -1 / d.
//   half 0: g7 (7) g4 (4, 0) g3 (3) g0 (0)      half 1: g6 (6, 0) g5 (5) g2 (2, 0) g1 (1)
constexpr int kSolveHalf = 20;
constexpr int solve_half(int k) { return k == 7 || k == 4 || k == 3 || k == 0 ? 0 : 1; }
// Where k's multipliers begin in its half; with next = 1, where the following ones do.
constexpr int solve_base(int k, int next = 0) {
  const int slot = (k >= 6 ? 0 : k >= 4 ? 1 : k >= 2 ? 2 : 3) + next;
  return slot == 0 ? 0 : slot == 1 ? 7 : slot == 2 ? 12 : slot == 3 ? 15 : 16;
}
constexpr int solve_slot(int k) { return k >= 6 ? 0 : k >= 4 ? 1 : k >= 2 ? 2 : 3; }
struct alignas(16) SquarePivot {
  float solve[2 * kSolveHalf];
  PivotBlock block;  // the pivot warp's own
};

constexpr int kSquareStagePitch = kDim + 4;  // 4 mod 32: free of conflicts for four r by eight c
struct alignas(16) SquareStage {
  float word[kDim * kSquareStagePitch];
};

}  // namespace vdn_delta::phases
