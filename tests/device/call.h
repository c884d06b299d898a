// SPDX-License-Identifier: Apache-2.0
//
// One checked call of the GPU path: what every device test goes through. Outputs are poisoned before the call; guard
// bands, inputs and complete outputs are checked after it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gpu.h"
#include "kernels.h"
#include "support/guard.h"
#include "support/inputs.h"
#include "support/oracle.h"
#include "vdn_delta/vdn_delta.h"

namespace vdn_delta::test {

using support::Batch;
using support::kDim;
using support::kMatrix;
using support::pick;
using support::reference_of;
using support::same_bits;
using support::slice;

struct Variant {
  std::string name;
  vdn_variant_t id;
};
// The rows of the dispatch table that this GPU can run; never empty.
std::vector<Variant> variants();

// Words past a 256-byte boundary.
struct Offsets {
  int A = 0, B = 0, alpha = 0, T = 0, J = 0, info = 0;
};

struct Call {
  vdn_variant_t variant = VDN_VARIANT_AUTO;
  bool with_info = true;
  float a_scale = 1.0f, b_scale = 1.0f;
  Offsets offsets = {};
  bool programmatic = false;
  bool tight = false;  // see DeviceWords
};

// The call with default options, of one variant.
Call call_of(const Variant& variant);

struct Result {
  std::vector<float> T, J;
  std::vector<std::int32_t> info;  // empty if not asked for
};

// The arrays of one call on the device. `batch` must outlive it.
class Buffers {
 public:
  explicit Buffers(const Batch& batch, const Call& call = {});

  // Other inputs of the same n: put there now, or, with expect(), by work that is enqueued.
  void write(const Batch& batch);
  void expect(const Batch& batch);
  // Outputs as before the first call.
  void poison();
  vdn_status_t try_enqueue(void* stream) const;
  void enqueue(void* stream) const;  // must succeed
  // Waits for the device, checks everything and takes the outputs.
  Result collect() const;
  // Waits for the device; true if nothing at all was written.
  bool is_untouched() const;

  const DeviceWords& A() const { return A_; }
  const DeviceWords& B() const { return B_; }
  const DeviceWords& alpha() const { return alpha_; }
  const DeviceWords& T() const { return T_; }
  const DeviceWords& J() const { return J_; }
  const DeviceWords& info() const { return info_; }
  std::int64_t n() const { return batch_->n; }

 private:
  const Batch* batch_;
  Call call_;
  DeviceWords A_, B_, alpha_, T_, J_, info_;
};

// One call, start to end.
Result run(const Batch& batch, const Call& call = {}, void* stream = nullptr);

// make_batch, whose spec is printed when a check fails; and the one for tests to which the numbers do not matter:
// family silu, 64 tokens, beta scale 50, well away from the identity and quickly made.
Batch made_batch(const support::InputSpec& spec);
Batch model_batch(std::int64_t n, std::uint64_t seed);

// Matrix i of `a` and matrix j of `b` have the same bits.
bool same_matrix(const std::vector<float>& a, std::int64_t i, const std::vector<float>& b, std::int64_t j);
// The same for T and J, and for info where both have it.
bool same_result(const Result& a, std::int64_t i, const Result& b, std::int64_t j);
// All matrices of `few` against the first ones of `many`: the number that differ.
std::int64_t count_different(const Result& few, const Result& many);

// Quiet NaN in all entries of matrix m; how many entries are not finite.
bool all_quiet_nan(const std::vector<float>& values, std::int64_t m);
std::int64_t count_not_finite(const std::vector<float>& values);
std::int64_t count_nonzero(const std::vector<std::int32_t>& info);

// A batch in device memory, from where a LateWrite brings it to the inputs of a call.
class Source {
 public:
  explicit Source(const Batch& batch);
  void write(const Batch& batch);  // another one of the same n
  LateWrite to(const Buffers& buffers, int microseconds, bool trigger) const;

 private:
  DeviceWords A_, B_, alpha_;
};

// The CPU path on the same input.
Result run_host(const Batch& batch, const Call& call = {});

support::Errors errors_of(const Result& result, const support::Reference& reference);

}  // namespace vdn_delta::test
