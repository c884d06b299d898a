// SPDX-License-Identifier: Apache-2.0
#include "trial.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <utility>

#include "support/bars.h"
#include "support/guard.h"

namespace vdn_delta::test {
namespace {

using support::Batch;
using support::kMatrix;

Batch batch_of(std::int64_t n, double beta_scale, std::uint64_t seed) {
  support::InputSpec spec;
  spec.n = n;
  spec.tokens = 64;
  spec.beta_scale = beta_scale;
  spec.seed = seed;
  return support::make_batch(spec, 1);
}

// The strict upper triangle of A reaches no result: NaN there must not show.
void spoil_upper_triangles(Batch* batch) {
  for (std::int64_t m = 0; m < batch->n; ++m)
    for (int i = 0; i < support::kDim; ++i)
      for (int j = i + 1; j < support::kDim; ++j)
        batch->A[static_cast<std::size_t>(m * kMatrix + i * support::kDim + j)] =
            std::numeric_limits<float>::quiet_NaN();
}

bool all_nan(const float* values) {
  return std::all_of(values, values + kMatrix, [](float v) { return std::isnan(v); });
}

// Of the matrices with a bad pivot T and J are NaN; of the others they are within the bars.
std::string check_values(const Workload& w, const Output& out) {
  std::vector<std::int64_t> good;
  for (std::int64_t m = 0; m < w.batch.n; ++m) {
    if (w.info[static_cast<std::size_t>(m)] == 0) {
      good.push_back(m);
    } else if (!all_nan(&out.T[static_cast<std::size_t>(m * kMatrix)]) ||
               !all_nan(&out.J[static_cast<std::size_t>(m * kMatrix)])) {
      return "matrix " + std::to_string(m) + " has a bad pivot, and T or J are not NaN";
    }
  }
  std::vector<float> T, J;
  support::Reference reference;
  for (const std::int64_t m : good) {
    const auto first = static_cast<std::ptrdiff_t>(m * kMatrix), last = first + kMatrix;
    T.insert(T.end(), out.T.begin() + first, out.T.begin() + last);
    J.insert(J.end(), out.J.begin() + first, out.J.begin() + last);
    reference.T.insert(reference.T.end(), w.reference.T.begin() + first, w.reference.T.begin() + last);
    reference.J.insert(reference.J.end(), w.reference.J.begin() + first, w.reference.J.begin() + last);
  }
  const support::Errors errors =
      support::compare(static_cast<std::int64_t>(good.size()), T.data(), J.data(), reference);
  if (errors.err_T <= w.bar.err_T && errors.err_J <= w.bar.err_J && errors.worst_T <= w.bar.worst_T &&
      errors.worst_J <= w.bar.worst_J)
    return "";
  char text[200];
  std::snprintf(text, sizeof text, "errors T %.3g (worst %.3g) J %.3g (worst %.3g), allowed %.3g (%.3g), %.3g (%.3g)",
                errors.err_T, errors.worst_T, errors.err_J, errors.worst_J, w.bar.err_T, w.bar.worst_T, w.bar.err_J,
                w.bar.worst_J);
  return text;
}

}  // namespace

void expect_values(Workload* w, const std::vector<std::pair<std::int64_t, int>>& broken) {
  w->reference = support::reference_of(w->batch, w->a_scale, w->b_scale);
  Batch scaled = w->batch;
  for (float& a : scaled.A) a *= w->a_scale;
  for (float& b : scaled.B) b *= w->b_scale;
  const support::Errors chain = support::chain_errors(scaled, support::reference_of(scaled));
  w->bar = {support::chain_bar(chain.err_T), support::chain_bar(chain.err_J), support::chain_bar(chain.worst_T),
            support::chain_bar(chain.worst_J)};
  w->info.assign(static_cast<std::size_t>(w->batch.n), 0);
  for (const auto& [m, order] : broken) {
    support::break_pivot(&w->batch.A[static_cast<std::size_t>(m * kMatrix)], order);
    std::int32_t& first = w->info[static_cast<std::size_t>(m)];
    first = first == 0 ? order : std::min(first, order);
  }
  spoil_upper_triangles(&w->batch);
}

std::vector<Workload> workloads() {
  std::vector<Workload> all;
  {
    Workload w;
    w.name = "six matrices, two bad, bulk copies";
    w.batch = batch_of(6, 10.0, 1);
    w.programmatic = true;
    expect_values(&w, {{1, 128}, {3, 77}});
    all.push_back(w);
  }
  {
    Workload w;
    w.name = "six matrices, word accesses, scales";
    w.batch = batch_of(6, 1.0, 2);
    w.offset_A = 1, w.offset_B = 2, w.offset_T = 3, w.offset_J = 1;
    w.a_scale = 2.5f, w.b_scale = 0.75f;
    expect_values(&w);
    all.push_back(w);
  }
  {
    Workload w;
    w.name = "three matrices, two clusters, A and T by words, no info";
    w.batch = batch_of(3, 50.0, 3);
    w.clusters = 2;
    w.offset_T = 2;
    w.with_info = false;
    expect_values(&w);
    all.push_back(w);
  }
  {
    Workload w;
    w.name = "two matrices, two clusters, B and J by words";
    w.batch = batch_of(2, 1.0, 4);
    w.clusters = 2;
    w.offset_B = 3;
    expect_values(&w);
    all.push_back(w);
  }
  {
    Workload w;
    w.name = "five matrices, two clusters, bulk copies, scales, bad pivots of every kind";
    w.batch = batch_of(5, 1.0, 6);
    w.clusters = 2;
    w.a_scale = 2.5f, w.b_scale = 0.75f;
    expect_values(&w, {{1, 100}, {1, 30}, {2, 1}});
    const int infinite = 61;
    w.batch.A[static_cast<std::size_t>(4 * kMatrix + (infinite - 1) * (support::kDim + 1))] =
        std::numeric_limits<float>::infinity();
    w.info[4] = infinite;
    all.push_back(w);
  }
  {
    Workload w;
    w.name = "three matrices, two clusters, word accesses, one bad";
    w.batch = batch_of(3, 1.0, 7);
    w.clusters = 2;
    w.offset_A = 1, w.offset_B = 2, w.offset_T = 3, w.offset_J = 1;
    expect_values(&w, {{0, 5}});
    all.push_back(w);
  }
  {
    Workload w;
    w.name = "seven matrices, five clusters, bulk copies, the last one bad";  // single: the last two are shared
    w.batch = batch_of(7, 1.0, 8);
    w.clusters = 5;
    w.b_scale = 0.75f;
    expect_values(&w, {{6, 128}});
    all.push_back(w);
  }
  {
    Workload w;
    w.name = "five matrices, three clusters, bulk copies";  // single: two are left, too many to be shared
    w.batch = batch_of(5, 1.0, 9);
    w.clusters = 3;
    expect_values(&w);
    all.push_back(w);
  }
  {
    Workload w;
    w.name = "one matrix";
    w.batch = batch_of(1, 100.0, 5);
    expect_values(&w);
    all.push_back(w);
  }
  return all;
}

std::vector<const host::Row*> held_rows() {
  std::vector<const host::Row*> held;
  for (const host::Row& row : host::kDispatch)
    if (host::is_held(row)) held.push_back(&row);
  return held;
}

Shape shape_of(const host::Row& row) {
  host::VariantFacts facts;
  row.prepare(&facts);
  return {row.cluster, (facts.threads + 31) / 32};
}

Finding run_trial(const host::Row& row, const Workload& w, const emulator::Schedule& schedule, int rcp_error,
                  Output* output) {
  const std::int64_t n = w.batch.n;
  support::Guarded<float> A(w.batch.A, w.offset_A), B(w.batch.B, w.offset_B), alpha(w.batch.alpha, 1),
      T(n * kMatrix, w.offset_T), J(n * kMatrix, w.offset_J);
  support::Guarded<std::int32_t> info(n);

  emulator::Machine& machine = emulator::machine();
  machine.settings.schedule = schedule;
  machine.settings.rcp_error = rcp_error;
  const auto bytes = static_cast<std::size_t>(n * kMatrix) * 4, vector_bytes = static_cast<std::size_t>(n) * 4;
  using emulator::Region;
  machine.settings.regions = {
      {"A", A.data(), bytes, Region::kInput},
      {"B", B.data(), bytes, Region::kInput},
      {"T", T.data(), bytes, Region::kOutput},
      {"J", J.data(), bytes, Region::kOutput},
      {"alpha", alpha.data(), vector_bytes * support::kDim, Region::kInput},
  };
  if (w.with_info) machine.settings.regions.push_back({"info", info.data(), vector_bytes, Region::kOutput});

  host::VariantFacts facts;
  if (row.prepare(&facts) != 0 || facts.ctas_per_sm < 1) return {"refused", "the emulated device cannot hold a CTA"};
  const Params params{A.data(), B.data(),  alpha.data(), T.data(), J.data(), w.with_info ? info.data() : nullptr,
                      n,        w.a_scale, w.b_scale};
  const int status = row.launch(params, host::LaunchShape{w.clusters * row.cluster, w.programmatic}, nullptr);
  const emulator::Fault& fault = machine.last_fault();
  if (fault) return {emulator::name_of(fault.kind), fault.text};
  if (status != 0) return {"refused", "the launch failed with status " + std::to_string(status)};

  if (!A.guards_intact() || !B.guards_intact() || !alpha.guards_intact() || !T.guards_intact() || !J.guards_intact() ||
      !info.guards_intact() || !A.holds(w.batch.A) || !B.holds(w.batch.B) || !alpha.holds(w.batch.alpha))
    return {"overrun", "an input or what lies around an array has changed"};
  if (!T.fully_written() || !J.fully_written() || !(w.with_info ? info.fully_written() : info.untouched()))
    return {"unwritten-output", "a word of T, J or info was not written"};
  const Output out{T.values(), J.values(), w.with_info ? info.values() : std::vector<std::int32_t>()};
  if (output != nullptr) *output = out;
  if (w.with_info && out.info != w.info) {
    for (std::size_t m = 0; m < out.info.size(); ++m)
      if (out.info[m] != w.info[m])
        return {"result", "info of matrix " + std::to_string(m) + " is " + std::to_string(out.info[m]) + ", not " +
                              std::to_string(w.info[m])};
  }
  const std::string wrong = check_values(w, out);
  if (!wrong.empty()) return {"result", wrong};
  return {};
}

}  // namespace vdn_delta::test
