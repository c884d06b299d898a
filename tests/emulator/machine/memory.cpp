// SPDX-License-Identifier: Apache-2.0
//
// Accesses to memory: which place an address is, whether it may be used so, and whether somebody else is in the way.
#include <cstring>
#include <string>

#include "state.h"

namespace vdn_delta::emulator {

Stamp Machine::stamp_of_self(Where where) const {
  return {where, self().view.visible[static_cast<std::size_t>(current_)], current_, cluster_};
}

Machine::Cta* Machine::find_cta(const void* p) const {
  const auto address = reinterpret_cast<std::uintptr_t>(p);
  for (int rank = 0; rank < launch_.cluster; ++rank) {
    Cta& cta = *ctas_[static_cast<std::size_t>(rank)];
    const auto begin = reinterpret_cast<std::uintptr_t>(cta.shared);
    if (address >= begin && address < begin + cta.bytes) return &cta;
  }
  return nullptr;
}

Machine::Place Machine::aligned_place(Cta* cta, const void* p, std::size_t alignment, const char* what, Where where) {
  const auto offset = static_cast<std::size_t>(static_cast<const unsigned char*>(p) - cta->shared);
  if (offset % alignment != 0)
    fail(FaultKind::kAlignment, name_of_use(what, where) + " to byte " + std::to_string(offset) +
                                    " of shared memory wants multiples of " + std::to_string(alignment));
  return {cta, offset};
}

Machine::Place Machine::own_place(const void* p, std::size_t bytes, std::size_t alignment, const char* what,
                                  Where where) {
  Cta& cta = own_cta();
  const auto address = reinterpret_cast<std::uintptr_t>(p), begin = reinterpret_cast<std::uintptr_t>(cta.shared);
  if (address < begin || address + bytes > begin + cta.bytes)
    fail(FaultKind::kBounds, name_of_use(what, where) + " lies outside of the CTA's own shared memory");
  return aligned_place(&cta, p, alignment, what, where);
}

Machine::Place Machine::peer_place(const void* p, std::size_t bytes, std::size_t alignment, const char* what,
                                   Where where, bool now) {
  Cta* cta = find_cta(p);
  if (cta == nullptr ||
      static_cast<std::size_t>(static_cast<const unsigned char*>(p) - cta->shared) + bytes > cta->bytes)
    fail(FaultKind::kBounds, name_of_use(what, where) + " lies outside of the cluster's shared memory");
  if (cta != &own_cta()) {
    if (self().cluster_barriers == 0)
      fail(FaultKind::kBarrier, name_of_use(what, where) + " before a cluster barrier: the peer may not have started");
    if (cta->ended)
      fail(FaultKind::kExit, name_of_use(what, where) + ", but CTA " + std::to_string(cta->index) + " has ended");
    if (now) remember_touch(*cta, current_, self().view.visible[static_cast<std::size_t>(current_)], where);
  }
  return aligned_place(cta, p, alignment, what, where);
}

int Machine::find_region(const void* p, std::size_t bytes, std::size_t alignment, bool write, const char* what,
                         Where where) {
  const auto address = reinterpret_cast<std::uintptr_t>(p);
  for (std::size_t r = 0; r < settings.regions.size(); ++r) {
    const Region& region = settings.regions[r];
    const auto begin = reinterpret_cast<std::uintptr_t>(region.begin);
    if (address < begin || address >= begin + region.bytes) continue;
    const auto name = [&]() {
      return name_of_use(what, where) + " of " + region.name + ", byte " + std::to_string(address - begin);
    };
    if (address + bytes > begin + region.bytes) fail(FaultKind::kBounds, name() + ": beyond its end");
    if (address % alignment != 0)
      fail(FaultKind::kAlignment, name() + ": the address is no multiple of " + std::to_string(alignment));
    if (region.use == (write ? Region::kInput : Region::kOutput))
      fail(FaultKind::kPermission, name() + (write ? ": an input is written" : ": an output is read"));
    if (!self().predecessor_done) fail(FaultKind::kPredecessor, name() + ": before the wait for the preceding grid");
    return static_cast<int>(r);
  }
  fail(FaultKind::kBounds, name_of_use(what, where) + ": no array is there");
}

void Machine::access(Shadow& shadow, std::size_t first_byte, std::size_t bytes, bool write, const Stamp& stamp,
                     const Clocks& before, const Clocks* unfenced, const char* memory, const Cta* cta) {
  if (bytes == 0 || bytes % 4 != 0)
    fail(FaultKind::kAlignment, "an access of " + std::to_string(bytes) + " bytes at " + text_of(stamp.where()));
  statistics.words += bytes / 4;
  for (std::size_t word = first_byte / 4; word < (first_byte + bytes) / 4; ++word) {
    const auto place = [&]() {
      const std::string of = cta != nullptr && launch_.cluster > 1 ? " of CTA " + std::to_string(cta->rank) : "";
      return std::string(write ? "write" : "read") + " of " + memory + of + ", byte " + std::to_string(4 * word) +
             ", at " + text_of(stamp.where()) + " by " + agent_name(stamp);
    };
    if (shadow.is_barrier(word)) fail(FaultKind::kBarrier, place() + ": an mbarrier is there");
    const Conflict conflict = write ? shadow.write(word, stamp, before) : shadow.read(word, stamp, before);
    if (conflict.kind == Conflict::kNone) continue;
    if (conflict.kind == Conflict::kUnwritten) fail(FaultKind::kUnwritten, place() + ": nobody has written it");
    const Stamp& other = conflict.other;
    const bool fence_missing =
        unfenced != nullptr && other.cluster == stamp.cluster && (*unfenced)[other.agent] >= other.clock;
    std::string text = place() + ": no order with the " + (conflict.kind == Conflict::kAfterWrite ? "write" : "read") +
                       " at " + text_of(other.where()) + " by " + agent_name(other);
    if (fence_missing) text += " but for a missing fence.proxy.async";
    fail(fence_missing ? FaultKind::kProxy : FaultKind::kRace, text);
  }
}

void Machine::access_shared(Place place, std::size_t bytes, bool write, Where where) {
  access(place.cta->shadow, place.offset, bytes, write, stamp_of_self(where), self().view.visible, nullptr,
         "shared memory", place.cta);
}

void Machine::load(Place place, void* value, std::size_t bytes, Where where) {
  access_shared(place, bytes, false, where);
  std::memcpy(value, place.data(), bytes);
}
void Machine::store(Place place, const void* value, std::size_t bytes, Where where) {
  access_shared(place, bytes, true, where);
  std::memcpy(place.data(), value, bytes);
}

void Machine::read_shared(const void* p, void* value, std::size_t bytes, Where where) {
  touch();
  load(own_place(p, bytes, bytes, "a read", where), value, bytes, where);
}
void Machine::write_shared(void* p, const void* value, std::size_t bytes, Where where) {
  touch();
  store(own_place(p, bytes, bytes, "a write", where), value, bytes, where);
}

void* Machine::peer(const void* p, int rank, Where where) {
  const Place place = own_place(p, 1, 1, "a mapped address", where);
  if (rank < 0 || rank >= launch_.cluster)
    fail(FaultKind::kBounds,
         thread_name(current_) + ": no CTA " + std::to_string(rank) + " in the cluster, at " + text_of(where));
  return ctas_[static_cast<std::size_t>(rank)]->shared + place.offset;
}
void Machine::read_peer(const void* p, void* value, std::size_t bytes, Where where) {
  touch();
  load(peer_place(p, bytes, bytes, "a read", where), value, bytes, where);
}
void Machine::write_peer(void* p, const void* value, std::size_t bytes, Where where) {
  touch();
  store(peer_place(p, bytes, bytes, "a write", where), value, bytes, where);
}

void Machine::access_global(int region, const void* p, std::size_t bytes, bool write, const Stamp& stamp,
                            const Clocks& before, const Clocks* unfenced) {
  const Region& r = settings.regions[static_cast<std::size_t>(region)];
  if (r.use == Region::kInput) return;
  const auto offset =
      static_cast<std::size_t>(static_cast<const unsigned char*>(p) - static_cast<const unsigned char*>(r.begin));
  access(global_[static_cast<std::size_t>(region)], offset, bytes, write, stamp, before, unfenced, r.name, nullptr);
}
void Machine::check_global_read(const void* p, std::size_t bytes, Where where) {
  touch();
  access_global(find_region(p, bytes, bytes, false, "a read", where), p, bytes, false, stamp_of_self(where),
                self().view.visible, nullptr);
}
void Machine::check_global_write(const void* p, std::size_t bytes, Where where) {
  touch();
  access_global(find_region(p, bytes, bytes, true, "a write", where), p, bytes, true, stamp_of_self(where),
                self().view.visible, nullptr);
}

}  // namespace vdn_delta::emulator
