// Moving bytes between places: copies and reductions, by loads and stores or by the kernel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "engine/call.hpp"
#include "engine/operands.hpp"
#include "engine/slot_stores.hpp"

namespace copse::engine {

class Movement {
 public:
  explicit Movement(ScratchPool& pool) : pool_(pool) {}

  // From now on, results of at least this many bytes are stored past the caches (see Executor::stream_from).
  void stream_from(std::size_t bytes) { stream_from_ = bytes; }
  [[nodiscard]] std::size_t streams_from() const { return stream_from_; }
  // Sets how data is stored into slots from now on.
  void store_slots(const SlotStores& stores) { slot_stores_ = stores; }
  [[nodiscard]] const SlotStores& slot_stores() const { return slot_stores_; }

  // These return false if they do not reach a peer. Then unreached() returns that peer. copy() stores `past_from` bytes and
  // more past the caches.
  bool copy(const Located& dst, const Located& src, std::size_t element_bytes, std::size_t past_from);
  bool copy_to_slot(const Located& dst, const Located& src, std::size_t element_bytes);
  // Sets dst, and dst2 if the operation has one, to `a` op `b`.
  bool reduce(const Op& op, const Call& call, const Located& dst, const Located& dst2, const Located& a, const Located& b);

  // Returns a peer whose memory the kernel could not reach, or null if there is none.
  [[nodiscard]] const Peer* unreached() const { return unreached_; }

 private:
  bool knows(const Located& place);
  bool fetch(const Located& src, std::size_t offset, std::byte* here, std::size_t bytes);
  bool store(const Located& dst, std::size_t offset, const std::byte* here, std::size_t bytes);
  void reduce_here(const Op& op, const Call& call, const Located& dst, const Located& dst2, const Located& a,
                   const Located& b) const;
  bool reduce_by_pieces(const Op& op, const Call& call, const Located& dst, const Located& dst2, const Located& a,
                        const Located& b);

  std::size_t stream_from_ = SIZE_MAX;
  SlotStores slot_stores_;
  ScratchPool& pool_;  // memory for operands that are brought here
  const Peer* unreached_ = nullptr;
};

}  // namespace copse::engine
