// SPDX-License-Identifier: Apache-2.0
#include "accuracy.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "../tests/support/bars.h"
#include "../tests/support/oracle.h"

namespace vdn_delta::bench {
namespace {

using support::Family;

AccuracyCase make_case(Family family, int tokens, double beta_scale, double shift, Bar bar) {
  AccuracyCase one;
  one.spec.family = family;
  one.spec.tokens = tokens;
  one.spec.beta_scale = beta_scale;
  one.spec.shift = shift;
  one.bar = bar;
  return one;
}

struct Outputs {
  explicit Outputs(std::int64_t n)
      : T(static_cast<std::size_t>(n * support::kMatrix), std::numeric_limits<float>::quiet_NaN()), J(T) {}
  std::vector<float> T, J;
};

void set_bars(const AccuracyCase& one, const support::Errors& chain, ErrorRow* row) {
  if (one.bar == Bar::kFixed) {
    row->bar_T = support::kBarT;
    row->bar_J = support::kBarJ;
  } else if (one.bar == Bar::kChain) {
    row->bar_T = support::chain_bar(chain.err_T);
    row->bar_J = support::chain_bar(chain.err_J);
  }
}

bool within_bars(const AccuracyCase& one, const ErrorRow& row) {
  // Written so that NaN fails.
  const bool finite = std::isfinite(row.worst_T) && std::isfinite(row.worst_J);
  if (one.bar == Bar::kFinite) return finite;
  if (!finite || !(row.err_T <= row.bar_T) || !(row.err_J <= row.bar_J)) return false;
  return one.bar != Bar::kFixed || (row.worst_T <= support::kBarWorst && row.worst_J <= support::kBarWorst);
}

}  // namespace

std::vector<AccuracyCase> accuracy_cases(const std::vector<std::string>& families, std::int64_t n, std::uint64_t seed) {
  std::vector<AccuracyCase> cases;
  for (const double scale : {1.0, 50.0, 100.0}) cases.push_back(make_case(Family::kSilu, 1008, scale, 0, Bar::kFixed));
  // Fewer tokens than rows: A is rank-deficient.
  for (const int tokens : {16, 64}) {
    for (const double scale : {1.0, 50.0, 100.0}) {
      cases.push_back(make_case(Family::kSilu, tokens, scale, 0, Bar::kChain));
      cases.push_back(make_case(Family::kNormal, tokens, scale, 0, Bar::kChain));
    }
    cases.push_back(make_case(Family::kShifted, tokens, 50, 2, Bar::kChain));
  }
  for (const double scale : {1.0, 50.0, 100.0}) {
    cases.push_back(make_case(Family::kNormal, 1008, scale, 0, Bar::kChain));
  }
  cases.push_back(make_case(Family::kShifted, 1008, 50, 2, Bar::kChain));   // condition about 1e3
  cases.push_back(make_case(Family::kShifted, 1008, 50, 8, Bar::kFinite));  // condition about 1e4

  std::vector<AccuracyCase> chosen;
  for (AccuracyCase& one : cases) {
    const std::string name = support::family_name(one.spec.family);
    if (!families.empty() && std::find(families.begin(), families.end(), name) == families.end()) continue;
    one.spec.n = n;
    one.spec.seed = seed;
    chosen.push_back(one);
  }
  return chosen;
}

std::vector<ErrorRow> run_accuracy(const AccuracyCase& one, const std::vector<Contender*>& contenders, int threads) {
  const support::InputSpec& spec = one.spec;
  const support::Batch batch = support::make_batch(spec, threads);
  const support::Reference reference =
      support::solve_reference(spec.n, batch.A.data(), batch.B.data(), batch.alpha.data(), 1.0, 1.0, threads);

  std::vector<ErrorRow> rows;
  support::Errors chain;
  bool have_chain = false;
  for (Contender* contender : contenders) {
    Outputs outputs(spec.n);
    contender->solve(batch, outputs.T.data(), outputs.J.data());
    const support::Errors errors = support::compare(spec.n, outputs.T.data(), outputs.J.data(), reference);
    if (contender->name() == "baseline:chain") {
      chain = errors;
      have_chain = true;
    }
    ErrorRow row;
    row.n = spec.n;
    row.variant = contender->name_for(spec.n);
    row.family = support::family_name(spec.family);
    row.tokens = spec.tokens;
    row.beta_scale = spec.beta_scale;
    row.shift = spec.shift;
    row.seed = spec.seed;
    row.err_T = errors.err_T;
    row.err_J = errors.err_J;
    row.worst_T = errors.worst_T;
    row.worst_J = errors.worst_J;
    rows.push_back(row);
  }
  if (one.bar == Bar::kChain && !have_chain) {
    Outputs outputs(spec.n);
    support::four_call_chain(spec.n, batch.A.data(), batch.B.data(), batch.alpha.data(), outputs.T.data(),
                             outputs.J.data(), threads);
    chain = support::compare(spec.n, outputs.T.data(), outputs.J.data(), reference);
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (contenders[i]->is_baseline()) continue;
    set_bars(one, chain, &rows[i]);
    rows[i].verdict = within_bars(one, rows[i]) ? "OK" : "FAIL";
  }
  return rows;
}

}  // namespace vdn_delta::bench
