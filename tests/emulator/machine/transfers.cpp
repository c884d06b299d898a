// SPDX-License-Identifier: Apache-2.0
//
// The copy engine: transfers that are issued by a thread and happen later. Each is an agent of its own for the race
// detector; what it may rely on is what its issuer knew to be fenced.
#include <algorithm>
#include <cstring>
#include <memory>
#include <string>

#include "state.h"

namespace vdn_delta::emulator {
namespace {

constexpr std::size_t kAlignment = 16;  // of addresses and sizes of bulk copies

}  // namespace

void Machine::fence_proxy_async(Where) {
  self().view.fenced = self().view.visible;
  advance();  // what comes later is not fenced
}

void Machine::check_size(const char* what, int bytes, Where where) {
  if (bytes <= 0 || bytes % static_cast<int>(kAlignment) != 0)
    fail(FaultKind::kAlignment,
         thread_name(current_) + ": " + what + " of " + std::to_string(bytes) + " bytes at " + text_of(where));
}

Machine::Transfer& Machine::issue(const char* what, std::size_t bytes, Where where) {
  // No later than this: the engine holds so many at once.
  if (free_slots_.empty()) deliver(static_cast<std::size_t>(scheduler_->pick_transfer(slots_)));
  ++statistics.transfers;
  Thread& me = self();
  if (me.snapshot == nullptr) me.snapshot = std::make_shared<const View>(me.view);
  auto transfer = std::make_unique<Transfer>();
  Transfer& t = *transfer;
  t.what = what, t.issuer = current_, t.where = where, t.bytes = bytes;
  t.slot = free_slots_.front();
  free_slots_.pop_front();
  slot_issuer_[static_cast<std::size_t>(t.slot)] = current_;
  std::uint32_t& clock = slot_clock_[static_cast<std::size_t>(t.slot)];
  t.read_clock = ++clock;
  t.write_clock = ++clock;
  t.view = me.snapshot;
  transfers_.push_back(std::move(transfer));
  return t;
}

void Machine::remember_touch(Cta& cta, int agent, std::uint32_t clock, Where where) {
  cta.touched[static_cast<std::size_t>(agent)] = Stamp(where, clock, agent, cluster_);
}

void Machine::bulk_load(void* shared, const void* global, int bytes, const void* mbarrier, Where where) {
  const char* what = "a bulk load";
  touch();
  check_size(what, bytes, where);
  const auto size = static_cast<std::size_t>(bytes);
  const int region = find_region(global, size, kAlignment, false, what, where);
  const Place to = own_place(shared, size, kAlignment, what, where);
  Mbarrier& b = find_mbarrier(own_place(mbarrier, kMbarrierBytes, kMbarrierBytes, what, where), what, where);
  check_initialised(b, true, what, where);
  Transfer& t = issue(what, size, where);
  t.from_global = global, t.from_region = region;
  t.to = to.cta, t.to_offset = to.offset;
  t.barrier = &b;
  remember_touch(*to.cta, engine_agent(t.slot), t.write_clock, where);
}

void Machine::bulk_store(void* global, const void* shared, int bytes, Where where) {
  const char* what = "a bulk store";
  touch();
  check_size(what, bytes, where);
  const auto size = static_cast<std::size_t>(bytes);
  const int region = find_region(global, size, kAlignment, true, what, where);
  const Place from = own_place(shared, size, kAlignment, what, where);
  Transfer& t = issue(what, size, where);
  t.from = from.cta, t.from_offset = from.offset;
  t.to_global = global, t.to_region = region;
  self().open_stores.push_back({t.slot, t.read_clock, where});
}

void Machine::bulk_commit(Where) {
  Thread& t = self();
  t.stores.insert(t.stores.end(), t.open_stores.begin(), t.open_stores.end());
  t.open_stores.clear();
}

void Machine::bulk_wait_read(Where where) {
  touch();
  Thread& t = self();
  const auto under_way = [&]() {
    return std::any_of(transfers_.begin(), transfers_.end(), [&](const std::unique_ptr<Transfer>& transfer) {
      return std::any_of(t.stores.begin(), t.stores.end(), [&](const Thread::Store& store) {
        return store.slot == transfer->slot && store.read_clock == transfer->read_clock;
      });
    });
  };
  while (under_way()) block("bulk stores to have read their source", &t, where);
  for (const Thread::Store& store : t.stores) {
    const std::size_t agent = static_cast<std::size_t>(engine_agent(store.slot));
    t.view.visible[agent] = std::max(t.view.visible[agent], store.read_clock);
    t.view.fenced[agent] = std::max(t.view.fenced[agent], store.read_clock);
  }
  t.snapshot.reset();
  t.stores.clear();
}

void Machine::bulk_push(void* peer, const void* shared, int bytes, const void* peer_mbarrier, Where where) {
  const char* what = "a bulk push";
  touch();
  check_size(what, bytes, where);
  const auto size = static_cast<std::size_t>(bytes);
  const Place from = own_place(shared, size, kAlignment, what, where);
  const Place to = peer_place(peer, size, kAlignment, what, where, false);
  const Place at = peer_place(peer_mbarrier, kMbarrierBytes, kMbarrierBytes, what, where, false);
  if (to.cta != at.cta || to.cta == from.cta)
    fail(FaultKind::kBarrier,
         thread_name(current_) + ": a bulk push at " + text_of(where) + " goes to another CTA, with an mbarrier there");
  Mbarrier& b = find_mbarrier(at, what, where);
  check_initialised(b, true, what, where);
  Transfer& t = issue(what, size, where);
  t.from = from.cta, t.from_offset = from.offset;
  t.to = to.cta, t.to_offset = to.offset;
  t.barrier = &b;
  const int agent = engine_agent(t.slot);
  remember_touch(*from.cta, agent, t.read_clock, where);
  remember_touch(*to.cta, agent, t.write_clock, where);
}

void Machine::store_async(void* peer, const void* value, int bytes, const void* peer_mbarrier, Where where) {
  const char* what = "an asynchronous store";
  touch();
  if (bytes != 4 && bytes != 8 && bytes != 16)
    fail(FaultKind::kAlignment,
         thread_name(current_) + ": " + what + " of " + std::to_string(bytes) + " bytes at " + text_of(where));
  const auto size = static_cast<std::size_t>(bytes);
  const Place to = peer_place(peer, size, size, what, where, false);
  const Place at = peer_place(peer_mbarrier, kMbarrierBytes, kMbarrierBytes, what, where, false);
  if (to.cta != at.cta)
    fail(FaultKind::kBarrier,
         thread_name(current_) + ": an asynchronous store at " + text_of(where) + " and its mbarrier lie in one CTA");
  Mbarrier& b = find_mbarrier(at, what, where);
  check_initialised(b, false, what, where);
  Transfer& t = issue(what, size, where);
  const auto* first = static_cast<const unsigned char*>(value);
  t.value.assign(first, first + size);
  t.by_engine = false;
  t.to = to.cta, t.to_offset = to.offset;
  t.barrier = &b;
  remember_touch(*to.cta, engine_agent(t.slot), t.write_clock, where);
}

// What was written by the copy engine is fenced for it; what st.async has written is an ordinary write.
void Machine::complete(Mbarrier& b, const Transfer& t) {
  const auto agent = static_cast<std::size_t>(engine_agent(t.slot));
  const bool own = threads_[static_cast<std::size_t>(t.issuer)]->cta == b.cta;
  View& view = own ? b.gathered : b.remote_gathered;  // a peer's is for a wait at cluster scope
  for (Clocks* clocks : {&view.visible, t.by_engine ? &view.fenced : nullptr}) {
    if (clocks == nullptr) continue;
    if (clocks->empty()) clocks->assign(width_, 0);
    (*clocks)[agent] = std::max((*clocks)[agent], t.write_clock);
  }
  b.bytes -= static_cast<std::int64_t>(t.bytes);
  finish_phase(b);
}

void Machine::deliver(std::size_t index) {
  const std::unique_ptr<Transfer> transfer = std::move(transfers_[index]);
  transfers_.erase(transfers_.begin() + static_cast<std::ptrdiff_t>(index));
  const Transfer& t = *transfer;
  const auto stamp = [&](bool write) {
    return Stamp(t.where, write ? t.write_clock : t.read_clock, engine_agent(t.slot), cluster_);
  };
  for (const Cta* cta : {t.from, t.to})
    if (cta != nullptr && cta->ended)
      fail(FaultKind::kExit, std::string(t.what) + " at " + text_of(t.where) + " by " + thread_name(t.issuer) +
                                 " comes after the end of CTA " + std::to_string(cta->index));
  const Clocks& before = t.by_engine ? t.view->fenced : t.view->visible;
  const auto global = [&](int region, const void* p, bool write) {
    access_global(region, p, t.bytes, write, stamp(write), before, &t.view->visible);
  };
  const auto shared = [&](Cta* cta, std::size_t offset, bool write) {
    access(cta->shadow, offset, t.bytes, write, stamp(write), before, &t.view->visible, "shared memory", cta);
  };
  const void* source = t.value.data();
  if (t.from != nullptr) {
    shared(t.from, t.from_offset, false);
    source = t.from->data.data() + t.from_offset;
  } else if (t.from_global != nullptr) {
    global(t.from_region, t.from_global, false);
    source = t.from_global;
  }
  if (t.to != nullptr) {
    shared(t.to, t.to_offset, true);
    std::memcpy(t.to->data.data() + t.to_offset, source, t.bytes);
  } else {
    global(t.to_region, t.to_global, true);
    std::memcpy(t.to_global, source, t.bytes);
  }
  free_slots_.push_back(t.slot);
  if (t.barrier != nullptr) complete(*t.barrier, t);
  Thread& issuer = *threads_[static_cast<std::size_t>(t.issuer)];
  if (issuer.alive && issuer.object == &issuer) scheduler_->set_runnable(t.issuer, true);  // in bulk_wait_read
}

}  // namespace vdn_delta::emulator
