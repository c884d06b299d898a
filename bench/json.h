// SPDX-License-Identifier: Apache-2.0
//
// A JSON value and its reader: as much as the records need.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace vdn_delta::bench {

struct Json {
  enum class Kind { kNull, kBool, kNumber, kString, kArray, kObject };
  Kind kind = Kind::kNull;
  bool boolean = false;
  double number = 0;
  std::string string;
  std::vector<Json> array;
  std::map<std::string, Json> object;

  // The member, or a null value.
  const Json& at(const std::string& key) const;
  bool has(const std::string& key) const { return object.count(key) != 0; }
};

// Throws std::runtime_error with the offset of what it cannot read.
Json parse_json(const std::string& text);

// With quotes.
std::string json_string(const std::string& text);

}  // namespace vdn_delta::bench
