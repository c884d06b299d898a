// SPDX-License-Identifier: Apache-2.0
//
// A call of any n whose inputs are a few matrices again and again, so that all of its outputs can be checked on the
// device: for tests of many sizes, or of sizes that one does not want to copy to the host.
#pragma once

#include "call.h"
#include "host/dispatch.h"

namespace vdn_delta::test {

class Periodic {
 public:
  // `period` must outlive it. Room for `capacity` matrices, at least one period.
  Periodic(const Batch& period, std::int64_t capacity);

  // Bytes of device memory that an object of this capacity takes, and whether so much is free (if not, a message that
  // names n is left).
  static bool fits(std::int64_t capacity);

  void poison();
  vdn_status_t try_enqueue(std::int64_t n, const Call& call, void* stream) const;
  void enqueue(std::int64_t n, const Call& call, void* stream) const;  // must succeed
  // Straight through a row's door, with `units` clusters (or CTAs, where a matrix has one).
  cudaError_t launch(std::int64_t n, const host::Row& row, int units, cudaStream_t stream) const;

  // Waits for the device. Words of T, J and info that are not what a call of `n` gives: `expected` again and again in
  // the first n matrices, poison behind them; and words of the inputs that are no longer what they were. Guard bands
  // must be intact.
  unsigned long long count_wrong(std::int64_t n, const Result& expected, bool with_info = true) const;

  const DeviceWords& A() const { return A_; }
  const DeviceWords& B() const { return B_; }
  const DeviceWords& alpha() const { return alpha_; }
  const DeviceWords& T() const { return T_; }
  const DeviceWords& J() const { return J_; }
  const DeviceWords& info() const { return info_; }

 private:
  const Batch* period_;
  std::int64_t capacity_;
  DeviceWords A_, B_, alpha_, T_, J_, info_, counter_;
};

// How many clusters (or CTAs, where a matrix has one) of a variant the device holds at once, by vdn_delta_plan.
std::int64_t resident_units(const Variant& variant);

// The row of a variant.
const host::Row& row_of(const Variant& variant);

// Eight matrices of the model, the sixth of which breaks at pivot 65.
Batch period_batch(std::uint64_t seed);

}  // namespace vdn_delta::test
