// SPDX-License-Identifier: Apache-2.0
#include "shadow.h"

namespace vdn_delta::emulator {
namespace {

// Clusters of a grid have no order among themselves.
bool comes_before(const Stamp& earlier, const Stamp& access, const Clocks& before) {
  return earlier.cluster == access.cluster && before[earlier.agent] >= earlier.clock;
}

}  // namespace

void Shadow::reset(std::size_t words, bool initialised) {
  if (words_.size() != words) words_ = std::vector<Word>(words);
  for (Word& word : words_) {
    word.writer = Stamp();
    word.readers.clear();  // keeps its storage
    word.is_barrier = false;
  }
  initialised_ = initialised;
}

Conflict Shadow::read(std::size_t index, const Stamp& access, const Clocks& before) {
  Word& word = words_[index];
  if (word.writer.exists()) {
    if (!comes_before(word.writer, access, before)) return {Conflict::kAfterWrite, word.writer};
  } else if (!initialised_) {
    return {Conflict::kUnwritten, Stamp()};
  }
  for (Stamp& reader : word.readers)
    if (reader.agent == access.agent && reader.cluster == access.cluster) {
      reader = access;
      return {};
    }
  word.readers.push_back(access);
  return {};
}

Conflict Shadow::write(std::size_t index, const Stamp& access, const Clocks& before) {
  Word& word = words_[index];
  if (word.writer.exists() && !comes_before(word.writer, access, before)) return {Conflict::kAfterWrite, word.writer};
  for (const Stamp& reader : word.readers)
    if (!comes_before(reader, access, before)) return {Conflict::kAfterRead, reader};
  word.readers.clear();
  word.writer = access;
  return {};
}

}  // namespace vdn_delta::emulator
