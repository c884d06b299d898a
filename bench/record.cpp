// SPDX-License-Identifier: Apache-2.0
#include "record.h"

#include <cmath>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <limits>
#include <sstream>
#include <stdexcept>

#include "json.h"
#include "source_hash.h"

namespace vdn_delta::bench {
namespace {

// One JSON object on one line, members in the order of the calls; absent members are not written.
class Line {
 public:
  void text(const char* key, const std::string& value) {
    if (!value.empty()) add(key, json_string(value));
  }
  void number(const char* key, double value, const char* format = "%.6g") {
    char buffer[40];
    std::snprintf(buffer, sizeof buffer, format, value);
    add(key, std::isfinite(value) ? buffer : "null");
  }
  void integer(const char* key, std::int64_t value) { add(key, std::to_string(value)); }
  void raw(const char* key, const std::string& value) { add(key, value); }
  std::string str() const { return "{" + body_ + "}"; }

 private:
  void add(const char* key, const std::string& value) {
    if (!body_.empty()) body_ += ", ";
    body_ += json_string(key) + ": " + value;
  }
  std::string body_;
};

std::string object(const std::map<std::string, std::string>& members) {
  Line line;
  for (const auto& [key, value] : members) line.text(key.c_str(), value);
  return line.str();
}

std::string timing_line(const TimingRow& row) {
  Line line;
  line.integer("n", row.n);
  line.text("variant", row.variant);
  line.text("mode", row.mode);
  line.number("us_median", row.us_median);
  line.number("us_p10", row.us_p10);
  line.number("us_p90", row.us_p90);
  line.integer("samples", row.samples);
  if (row.by_auto) line.raw("auto", "true");
  return line.str();
}

std::string error_line(const ErrorRow& row) {
  Line line;
  line.integer("n", row.n);
  line.text("variant", row.variant);
  line.text("family", row.family);
  line.integer("tokens", row.tokens);
  line.number("beta_scale", row.beta_scale);
  if (row.family == "shifted") line.number("shift", row.shift);
  line.integer("seed", static_cast<std::int64_t>(row.seed));
  line.number("err_T", row.err_T, "%.4g");
  line.number("err_J", row.err_J, "%.4g");
  line.number("worst_T", row.worst_T, "%.4g");
  line.number("worst_J", row.worst_J, "%.4g");
  if (row.bar_T > 0) line.number("bar_T", row.bar_T, "%.4g");
  if (row.bar_J > 0) line.number("bar_J", row.bar_J, "%.4g");
  line.text("verdict", row.verdict);
  return line.str();
}

double number_or_infinity(const Json& value) {
  return value.kind == Json::Kind::kNumber ? value.number : std::numeric_limits<double>::infinity();
}

std::map<std::string, std::string> strings(const Json& object) {
  std::map<std::string, std::string> result;
  for (const auto& [key, value] : object.object) result[key] = value.string;
  return result;
}

}  // namespace

Record new_record() {
  Record record;
  const std::time_t now = std::time(nullptr);
  char date[16];
  std::strftime(date, sizeof date, "%Y-%m-%d", std::gmtime(&now));
  record.date = date;
  for (const SourceHash* hash = kSourceHashes; hash->variant != nullptr; ++hash) {
    record.source_hash[hash->variant] = hash->sha256;
  }
  for (const char* check : {"accuracy", "device", "memcheck", "racecheck", "synccheck", "initcheck"}) {
    record.checks[check] = "not run";
  }
  return record;
}

void finish(std::ofstream* file, const std::string& path) {
  file->close();
  if (!*file) throw std::runtime_error("cannot write " + path);
}

void write_record(const Record& record, const std::string& path) {
  std::ofstream file(path);
  const auto member = [&](const char* key, const std::string& value) {
    if (!value.empty()) file << "  \"" << key << "\": " << value << ",\n";
  };
  const auto quoted = [](const std::string& text) { return text.empty() ? text : json_string(text); };
  file << "{\n";
  member("gpu", quoted(record.gpu));
  member("driver", quoted(record.driver));
  member("cuda", quoted(record.cuda));
  member("capability", quoted(record.capability));
  if (record.multiprocessors > 0) member("multiprocessors", std::to_string(record.multiprocessors));
  if (record.clusters > 0) member("clusters", std::to_string(record.clusters));
  if (record.ceilings.clock_mhz > 0) member("clock_mhz", std::to_string(std::lround(record.ceilings.clock_mhz)));
  member("cpu", quoted(record.cpu));
  if (record.threads > 0) member("threads", std::to_string(record.threads));
  member("date", quoted(record.date));
  if (record.ceilings.ffma_tflops > 0) {
    Line line;
    line.number("ffma_tflops", record.ceilings.ffma_tflops, "%.4g");
    line.number("copy_gbs", record.ceilings.copy_gbs, "%.4g");
    member("ceilings", line.str());
  }
  member("source_hash", object(record.source_hash));
  member("checks", object(record.checks));
  file << "  \"results\": [";
  const char* separator = "\n    ";
  for (const TimingRow& row : record.timings) {
    file << separator << timing_line(row);
    separator = ",\n    ";
  }
  for (const ErrorRow& row : record.errors) {
    file << separator << error_line(row);
    separator = ",\n    ";
  }
  file << "\n  ]\n}\n";
  finish(&file, path);
}

Record read_record(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot read " + path);
  std::ostringstream text;
  text << file.rdbuf();
  Json root;
  try {
    root = parse_json(text.str());
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(path + ": " + error.what());
  }
  if (root.at("results").kind != Json::Kind::kArray) throw std::runtime_error(path + ": no record (no \"results\")");

  Record record;
  record.gpu = root.at("gpu").string;
  record.driver = root.at("driver").string;
  record.cuda = root.at("cuda").string;
  record.capability = root.at("capability").string;
  record.multiprocessors = static_cast<int>(root.at("multiprocessors").number);
  record.clusters = static_cast<int>(root.at("clusters").number);
  record.cpu = root.at("cpu").string;
  record.threads = static_cast<int>(root.at("threads").number);
  record.date = root.at("date").string;
  record.ceilings.clock_mhz = root.at("clock_mhz").number;
  record.ceilings.ffma_tflops = root.at("ceilings").at("ffma_tflops").number;
  record.ceilings.copy_gbs = root.at("ceilings").at("copy_gbs").number;
  record.source_hash = strings(root.at("source_hash"));
  record.checks = strings(root.at("checks"));
  for (const Json& row : root.at("results").array) {
    const std::int64_t n = static_cast<std::int64_t>(row.at("n").number);
    if (row.has("us_median")) {
      record.timings.push_back({n, row.at("variant").string, row.at("mode").string, row.at("us_median").number,
                                row.at("us_p10").number, row.at("us_p90").number,
                                static_cast<int>(row.at("samples").number), row.has("auto")});
      continue;
    }
    ErrorRow error;
    error.n = n;
    error.variant = row.at("variant").string;
    error.family = row.at("family").string;
    error.tokens = static_cast<int>(row.at("tokens").number);
    error.beta_scale = row.at("beta_scale").number;
    error.shift = row.at("shift").number;
    error.seed = static_cast<std::uint64_t>(row.at("seed").number);
    error.err_T = number_or_infinity(row.at("err_T"));
    error.err_J = number_or_infinity(row.at("err_J"));
    error.worst_T = number_or_infinity(row.at("worst_T"));
    error.worst_J = number_or_infinity(row.at("worst_J"));
    error.bar_T = row.at("bar_T").number;
    error.bar_J = row.at("bar_J").number;
    error.verdict = row.at("verdict").string;
    record.errors.push_back(error);
  }
  return record;
}

}  // namespace vdn_delta::bench
