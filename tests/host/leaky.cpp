// SPDX-License-Identifier: Apache-2.0
//
// A library that exports what it should not: what test_exports.py must find.
namespace vdn_delta {
int leaked() { return 0; }
}  // namespace vdn_delta

extern "C" int cudaMalloc() { return vdn_delta::leaked(); }
