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
constexpr int kSquareStagePitch = kDim + 2;  // 2 mod 32: free of conflicts for two r by sixteen c
struct alignas(16) SquareStage {
  float word[kDim * kSquareStagePitch];
};

}  // namespace vdn_delta::phases
