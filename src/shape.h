// SPDX-License-Identifier: Apache-2.0
//
// The shape of the problem and the index maps that every room shares. Plain C++, constexpr.
#pragma once

namespace vdn_delta {

constexpr int kDim = 128;  // rows and columns of a matrix: the model's head size
constexpr int kElements = kDim * kDim;
constexpr int kStep = 8;              // pivots per elimination step (docs/decisions/0001)
constexpr int kSteps = kDim / kStep;  // 16

// A thread's columns are c, c + 16, ..., c + 112 (0 <= c < 16): a step's eight columns are one column each of half of
// the threads. A sweep thread's rows are r, r + 8, ..., r + 120 (0 <= r < 8): a step's eight rows are one row of every
// thread.
constexpr int kColumnCycle = 16;
constexpr int kColumns = kDim / kColumnCycle;  // 8 columns per thread
constexpr int kRowCycle = 8;
constexpr int kRows = kDim / kRowCycle;  // 16 rows per thread

constexpr int kTurnCycle = kStep;  // columns c + 8 q of a tile that turns (tile/turn_tile.cuh): each step takes one

static_assert(kColumnCycle == 2 * kStep && kRowCycle == kStep, "publication counts on both (phases/sweep.cuh)");

// Where index i lies in a panel row of 128 words: the indices of one thread become runs of four words, so that a thread
// reads them with 16-byte loads and neighbouring threads read neighbouring 16-byte words.
//
//   column word   0..3: 16 0 48 32    4..7: 17 1 49 33  ...  60..63: 31 15 63 47   64..67: 80 64 112 96  ...
//   row word      0..3: 0 8 16 24     4..7: 1 9 17 25   ...  28..31: 7 15 23 31    32..35: 32 40 48 56   ...
// Neighbouring columns change places (^ 1) for the sake of the register banks: docs/decisions/0003.
constexpr int column_word(int c, int q) {
  return (q / 4) * (4 * kColumnCycle) + c * 4 + (q % 4 ^ 1);
}  // column c + 16 q
constexpr int column_word(int j) { return column_word(j % kColumnCycle, j / kColumnCycle); }
constexpr int row_word(int r, int p) { return (p / 4) * (4 * kRowCycle) + r * 4 + p % 4; }  // row r + 8 p
constexpr int row_word_of_column(int c, int q) {                                            // row c + 16 q
  return (q / 2) * (4 * kRowCycle) + q % 2 * 2 + c % kRowCycle * 4 + c / kRowCycle;
}
static_assert(row_word_of_column(5, 3) == row_word(5, 6) && row_word_of_column(11, 4) == row_word(3, 9), "one map");
constexpr int row_word(int i) { return row_word(i % kRowCycle, i / kRowCycle); }

}  // namespace vdn_delta
