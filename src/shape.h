// SPDX-License-Identifier: Apache-2.0
//
// The shape of the problem and the index maps that every room shares. Plain C++, constexpr.
#pragma once

namespace vdn_delta {

constexpr int kDim = 128;             // rows and columns of a matrix: the model's head size
constexpr int kElements = kDim * kDim;
constexpr int kStep = 8;              // pivots per elimination step (docs/decisions/0001)
constexpr int kSteps = kDim / kStep;  // 16
constexpr int kCycle = 16;            // rows (columns) of one thread are this far apart: r, r + 16, r + 32, ...
constexpr int kPerThread = kDim / kCycle;  // 8 rows (columns) per thread

static_assert(kSteps * kStep == kDim && kCycle * kPerThread == kDim, "both divide the matrix");
static_assert(kCycle == 2 * kStep, "a step's columns are one half of one thread column (publish.cuh relies on it)");

// Where index i (a row or a column of the matrix) lies in a panel row of 128 words. The eight indices of one thread,
// l, l + 16, ..., l + 112, become two runs of four words, so that a thread reads them with two 16-byte loads and
// neighbouring threads read neighbouring 16-byte words:
//
//   word   0..3: 0 16 32 48     4..7: 1 17 33 49   ...   60..63: 15 31 47 63
//         64..67: 64 80 96 112  68..71: 65 81 97 113 ... 124..127: 79 95 111 127
constexpr int panel_word(int l, int q) { return (q / 4) * (kDim / 2) + l * 4 + q % 4; }  // index l + 16 q
constexpr int panel_word(int i) { return panel_word(i % kCycle, i / kCycle); }

}  // namespace vdn_delta
