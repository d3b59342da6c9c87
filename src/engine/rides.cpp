// Rides: values that travel with the publication of their giver (plan.hpp), in its line or in the slot beside it.
//
// A ride of one block is the block, as long as the giver's publication says. One of several blocks begins with a table that says
// where each of them ends: 32 bits a block, in elements from the end of the table. The blocks follow in that order.
#include <algorithm>
#include <cstring>

#include "engine/executor.hpp"

namespace copse::engine {
namespace {

using End = std::uint32_t;

// Of the first `blocks` blocks.
End end_of(const std::byte *table, std::size_t blocks) {
  End end = 0;
  if (blocks > 0) std::memcpy(&end, table + (blocks - 1) * sizeof end, sizeof end);
  return end;
}

std::size_t table_bytes(std::uint32_t blocks) { return blocks > 1 ? blocks * sizeof(End) : 0; }

}  // namespace

inline Executor::OwnBlock Executor::own_block(const Ref &ref, const Call &call, std::uint32_t number) const {
  const bool gives = ref.space == plan::Space::input;
  const Block *const table = gives ? call.input_blocks : call.output_blocks;
  auto *const buffer = static_cast<std::byte *>(gives ? const_cast<void *>(call.input) : call.output);
  const std::size_t place = ref.places > 1 ? (ref.place + number) % ref.places : 0;
  if (table != nullptr) return {buffer + table[place].place, table[place].count};
  return {buffer + place * call.count * call.element_bytes, ref.places > 1 ? call.count : own_count(call)};
}

// Where this rank's value rides in this call. Nobody else need know before its publication says it.
std::int32_t Executor::choose_ride(const Program &program, const Call &call) {
  const Geometry &geometry = segment_.geometry();
  const std::size_t most = std::min<std::size_t>(call.ride_bytes, geometry.slots.back().bytes);
  std::size_t bytes = 0, block = 0;
  for (std::uint32_t i = 0; i < program.ride_blocks; ++i) {
    given_ = own_block(program.ride, call, i).count;
    if (__builtin_mul_overflow(given_, call.element_bytes, &block) || block > most - bytes) return kStays;
    bytes += block;
  }
  bytes += table_bytes(program.ride_blocks);
  return bytes <= plan::kLinePayloadBytes - sizeof(Addresses) ? kBehind : geometry.class_for(bytes);  // -1 is kStays
}

inline std::byte *Executor::ride_of(const Ref &ref, std::int32_t ride, std::uint64_t ticket) const {
  if (ride != kBehind) return segment_.slot(ref.local, ref.area, ride, ticket);
  return ref.ring[ticket & (segment_.geometry().line_depth - 1)].payload + sizeof(Addresses);
}

void Executor::load_ride(const Op &op, const Call &call, std::uint64_t ticket) {
  std::byte *const table = ride_of(op.dst, ride_, ticket);
  End end = end_of(table, op.dst.place);
  std::byte *to = table + table_bytes(ride_blocks_) + end * call.element_bytes;
  for (std::uint32_t i = 0; i < op.blocks; ++i) {
    const OwnBlock from = own_block(op.a, call, i);
    const std::size_t bytes = from.count * call.element_bytes;
    end += static_cast<End>(from.count);
    if (ride_blocks_ > 1) std::memcpy(table + (op.dst.place + i) * sizeof end, &end, sizeof end);
    if (bytes > 0) kernels::copy_or_stream(to, from.at, bytes, slot_stores_.past_from());
    to += bytes;
  }
}

Executor::OwnBlock Executor::ridden(const Ref &ref, std::uint32_t number, std::size_t element_bytes, std::uint64_t ticket) const {
  const Addresses &theirs = addresses_[static_cast<std::size_t>(ref.rank)];
  std::byte *const table = ride_of(ref, theirs.ride, ticket);
  if (theirs.ride_blocks <= 1) return {table, theirs.given};
  const std::size_t place = ref.place + number;
  const End begin = end_of(table, place), end = end_of(table, place + 1);
  return {table + table_bytes(theirs.ride_blocks) + begin * element_bytes, end - begin};
}

// Of a call with tables.
void Executor::copy_block(const Op &op, const Call &call, std::uint64_t ticket) {
  if (op.dst.space == plan::Space::ride) return load_ride(op, call, ticket);
  const OwnBlock dst = own_block(op.dst, call, 0), src = op.a.space == plan::Space::ride ? ridden(op.a, 0, call.element_bytes, ticket) : own_block(op.a, call, 0);
  if (call.one_way) note_cut_off(op.a.rank < 0 ? me_ : op.a.rank, src.count, dst.count);
  const std::size_t bytes = std::min(dst.count, src.count) * call.element_bytes;
  if (bytes > 0 && dst.at != src.at) kernels::copy(dst.at, src.at, bytes);
}

}  // namespace copse::engine
