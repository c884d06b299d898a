// SPDX-License-Identifier: Apache-2.0
#include "json.h"

#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

namespace vdn_delta::bench {
namespace {

class Reader {
 public:
  explicit Reader(const std::string& text) : text_(text) {}

  Json document() {
    Json value = read_value(0);
    skip_space();
    if (at_ != text_.size()) fail("something after the end");
    return value;
  }

 private:
  static constexpr int kMaxDepth = 32;

  [[noreturn]] void fail(const char* what) const {
    throw std::runtime_error("JSON, offset " + std::to_string(at_) + ": " + what);
  }

  void skip_space() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }

  char peek() {
    skip_space();
    if (at_ >= text_.size()) fail("unexpected end");
    return text_[at_];
  }

  bool take(char wanted) {
    if (peek() != wanted) return false;
    ++at_;
    return true;
  }

  void expect(char wanted) {
    if (!take(wanted)) fail((std::string("expected ") + wanted).c_str());
  }

  bool take_word(const char* word) {
    const std::size_t length = std::strlen(word);
    if (text_.compare(at_, length, word) != 0) return false;
    at_ += length;
    return true;
  }

  std::string read_string() {
    expect('"');
    std::string result;
    while (at_ < text_.size() && text_[at_] != '"') {
      char c = text_[at_++];
      if (c == '\\') {
        if (at_ >= text_.size()) break;
        c = text_[at_++];
        if (c == 'n') c = '\n';
        if (c == 't') c = '\t';
        if (c == 'u') {  // kept as '?': no record needs it
          at_ += 4;
          c = '?';
        }
      }
      result += c;
    }
    if (at_ >= text_.size()) fail("unterminated string");
    ++at_;
    return result;
  }

  Json read_value(int depth) {
    if (depth > kMaxDepth) fail("nested too deeply");
    Json value;
    const char c = peek();
    if (c == '{') {
      value.kind = Json::Kind::kObject;
      ++at_;
      if (take('}')) return value;
      do {
        skip_space();
        const std::string key = read_string();
        expect(':');
        value.object[key] = read_value(depth + 1);
      } while (take(','));
      expect('}');
    } else if (c == '[') {
      value.kind = Json::Kind::kArray;
      ++at_;
      if (take(']')) return value;
      do {
        value.array.push_back(read_value(depth + 1));
      } while (take(','));
      expect(']');
    } else if (c == '"') {
      value.kind = Json::Kind::kString;
      value.string = read_string();
    } else if (take_word("true")) {
      value.kind = Json::Kind::kBool;
      value.boolean = true;
    } else if (take_word("false")) {
      value.kind = Json::Kind::kBool;
    } else if (!take_word("null")) {
      char* end = nullptr;
      value.kind = Json::Kind::kNumber;
      value.number = std::strtod(text_.c_str() + at_, &end);
      if (end == text_.c_str() + at_) fail("expected a value");
      at_ = static_cast<std::size_t>(end - text_.c_str());
    }
    return value;
  }

  const std::string& text_;
  std::size_t at_ = 0;
};

}  // namespace

const Json& Json::at(const std::string& key) const {
  static const Json kNothing;
  const auto found = object.find(key);
  return found == object.end() ? kNothing : found->second;
}

Json parse_json(const std::string& text) { return Reader(text).document(); }

std::string json_string(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, "\\u%04x", static_cast<unsigned>(c));
      result += escaped;
    } else {
      result += c;
    }
  }
  return result + '"';
}

}  // namespace vdn_delta::bench
