// SPDX-License-Identifier: Apache-2.0
//
// The accuracy that tests and bench ask for: relative Frobenius errors against fp64. Typed here and nowhere else.
#pragma once

#include "oracle.h"

namespace vdn_delta::support {

// Family silu with 1008 tokens has fixed bars, at every beta scale: batch-wide and for the worst single matrix.
constexpr double kBarT = 3.0e-7;
constexpr double kBarJ = 8.5e-7;
constexpr double kBarWorst = 1.0e-6;

// Elsewhere: this many times the error of the four-call chain on the same input, plus a floor.
constexpr double kChainFactor = 1.5;
constexpr double kChainFloor = 1.0e-7;
constexpr double chain_bar(double chain_error) { return kChainFactor * chain_error + kChainFloor; }

}  // namespace vdn_delta::support
