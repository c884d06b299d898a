// SPDX-License-Identifier: Apache-2.0
#include "timeline.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <map>

namespace vdn_delta::bench {
namespace {

constexpr double kLeft = 90, kTop = 46, kRowHeight = 34, kRowGap = 14, kWidth = 1500, kBottom = 70;

std::string text(const char* format, ...) {
  char line[400];
  std::va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  return line;
}

// Waiting has no colour.
const char* colour(const std::string& what) {
  static const std::map<std::string, const char*> kColours = {
      {"load", "#9e9e9e"},   {"store", "#616161"}, {"update", "#1f77b4"}, {"publish", "#9ecae1"},
      {"factor", "#d62728"}, {"form", "#ff9896"},  {"solve", "#2ca02c"},  {"push H", "#98df8a"},
  };
  const auto found = kColours.find(what);
  return found == kColours.end() ? nullptr : found->second;
}

}  // namespace

std::string draw(const Timeline& timeline) {
  double last = 1;
  for (const Timeline::Role& role : timeline.roles)
    for (const Span& span : role.spans) last = std::max(last, span.end);
  const auto x = [&](double clock) { return kLeft + clock / last * kWidth; };
  const double rows = static_cast<double>(timeline.roles.size());
  const double floor = kTop + rows * (kRowHeight + kRowGap), height = floor + kBottom;

  std::string svg = text(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" font-family=\"sans-serif\" "
      "font-size=\"12\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
      kLeft + kWidth + 20, height);
  svg += text("<text x=\"%.0f\" y=\"20\" font-size=\"15\">One matrix on a cluster of two CTAs (%s), in clocks</text>\n",
              kLeft, timeline.gpu.c_str());
  std::map<std::string, bool> used;
  for (std::size_t r = 0; r < timeline.roles.size(); ++r) {
    const double y = kTop + static_cast<double>(r) * (kRowHeight + kRowGap);
    svg += text("<text x=\"8\" y=\"%.0f\">%s</text>\n", y + kRowHeight / 2 + 4, timeline.roles[r].name.c_str());
    svg += text("<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.0f\" fill=\"none\" stroke=\"#ddd\"/>\n", kLeft,
                y, kWidth, kRowHeight);
    for (const Span& span : timeline.roles[r].spans) {
      const char* fill = colour(span.what);
      if (fill == nullptr) continue;
      used[span.what] = true;
      svg += text("<rect x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%.0f\" fill=\"%s\"><title>%s", x(span.begin), y,
                  std::max(0.3, x(span.end) - x(span.begin)), kRowHeight, fill, span.what.c_str());
      if (span.step >= 0) svg += text(", step %d", span.step);
      svg += text(": %.0f to %.0f</title></rect>\n", span.begin, span.end);
    }
  }
  constexpr double kTick = 2000;
  for (double clock = 0; clock <= last; clock += kTick) {
    svg += text("<line x1=\"%.1f\" y1=\"%.0f\" x2=\"%.1f\" y2=\"%.0f\" stroke=\"#888\"/>\n", x(clock), floor, x(clock),
                floor + 5);
    svg += text("<text x=\"%.1f\" y=\"%.0f\" text-anchor=\"middle\">%.0f</text>\n", x(clock), floor + 19, clock);
  }
  double key = kLeft;
  for (const auto& [what, yes] : used) {
    svg += text("<rect x=\"%.0f\" y=\"%.0f\" width=\"14\" height=\"14\" fill=\"%s\"/>", key, floor + 36, colour(what));
    svg += text("<text x=\"%.0f\" y=\"%.0f\">%s</text>\n", key + 20, floor + 48, what.c_str());
    key += 110;
  }
  svg += text("<text x=\"%.0f\" y=\"%.0f\">white: waiting</text>\n</svg>\n", key, floor + 48);
  return svg;
}

std::string summary(const Timeline& timeline) {
  std::string out;
  for (const Timeline::Role& role : timeline.roles) {
    std::map<std::string, std::pair<double, int>> sums;
    double end = 0;
    for (const Span& span : role.spans) {
      end = std::max(end, span.end);
      if (span.step < 0) continue;
      sums[span.what].first += span.end - span.begin;
      sums[span.what].second += 1;
    }
    out += text("%-7s", role.name.c_str());
    for (const auto& [what, sum] : sums) out += text("  %s %.0f", what.c_str(), sum.first / sum.second);
    out += text("   (clocks a step; the last at %.0f)\n", end);
  }
  return out;
}

}  // namespace vdn_delta::bench
