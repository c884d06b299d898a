// SPDX-License-Identifier: Apache-2.0
//
// What the phases of phases/square.cuh exchange through shared memory: layouts and pitches. Plain C++.
#pragma once

#include "phases/panels.h"
#include "shape.h"

namespace vdn_delta::phases {

// The sweep team: a thread for each (r, c), 0 <= r, c < 16.
constexpr int kSquareThreads = kColumnCycle * kColumnCycle;
constexpr int kSquareWarps = kSquareThreads / 32;

// Where index i = a + 16 b lies in a panel of 128 words: a thread's eight indices are two runs of four.
constexpr int square_word(int a, int b) { return b / 4 * (4 * kColumnCycle) + 4 * a + b % 4; }
static_assert((square_word(5, 3) ^ 1) == column_word(5, 3) && (square_word(11, 6) ^ 1) == column_word(11, 6),
              "E and H lie by column_word: neighbours of square_word change places (docs/decisions/0003)");

// G and E need no padding: a warp of the panel team stores 32 neighbouring words.
constexpr int kSquarePitch = kDim;
struct alignas(16) SquarePanel {
  float word[kStep * kSquarePitch];  // G: [k][square_word(i)]; E: [k][square_word(i) ^ 1]
};

// C: the eight k of a row together, rows in the order of square_word, and four words of padding behind each four rows,
// so that the eight lanes of a pass of 16-byte loads, a row each, read from all 32 banks. square_row(w) is where row w
// begins. For w = square_word(a, b) it is a sum of a part for a and a part for b: 36 a + 576 (b / 4) + 8 (b % 4).
constexpr int square_row(int w) { return kStep * w + w / 4 * 4; }
constexpr int square_row_of_a(int a) { return square_row(square_word(1, 0)) * a; }
constexpr int square_row_of_b(int b) {
  return square_row(square_word(0, 4)) * (b / 4) + square_row(square_word(0, 1)) * (b % 4);
}
static_assert(square_row_of_a(13) + square_row_of_b(6) == square_row(square_word(13, 6)), "a sum");
struct alignas(16) SquareC {
  float word[square_row(kDim)];  // [row w][k]
};

// T's mirrored part, row by row. 130 is 2 mod 32: a warp stores two neighbouring words of each of 16 rows, in 32 banks.
constexpr int kSquareStagePitch = kDim + 2;
template <int rows>  // all of them, or a part at a time
struct alignas(16) SquareStageOf {
  float word[rows * kSquareStagePitch];
};
using SquareStage = SquareStageOf<kDim>;

}  // namespace vdn_delta::phases
