// Rides: values that travel with the publication of their giver (plan.hpp), in its line or in the slot beside it.
//
// A ride of one block is the block itself. The giver's publication says how long it is. A ride of several blocks begins with a
// table of the blocks' ends: 32 bits a block, in elements from the end of the table. The blocks follow in that order.
#include <algorithm>
#include <cstring>

#include "engine/kernels/kernels.hpp"
#include "engine/operands.hpp"

namespace copse::engine {
namespace {

using End = std::uint32_t;

// Returns where the first `blocks` blocks end.
End end_of(const std::byte* table, std::size_t blocks) {
  End end = 0;
  if (blocks > 0) std::memcpy(&end, table + (blocks - 1) * sizeof end, sizeof end);
  return end;
}

std::size_t table_bytes(std::uint32_t blocks) { return blocks > 1 ? blocks * sizeof(End) : 0; }

}  // namespace

std::int32_t Operands::choose_ride(const Program& program, const Call& call) {
  const Geometry& geometry = here_.segment.geometry();
  const std::size_t most = std::min<std::size_t>(call.ride_bytes, geometry.slots.back().bytes);
  std::size_t& given = addresses_[static_cast<std::size_t>(here_.me)].given;
  std::size_t bytes = 0, block = 0;
  for (const Program::Ridden& ridden : program.rides) {
    for (std::uint32_t i = 0; i < ridden.blocks; ++i) {
      given = own_block(ridden.part, call, i).count;
      if (__builtin_mul_overflow(given, call.element_bytes, &block) || block > most - bytes) return Addresses::kStays;
      bytes += block;
    }
  }
  bytes += table_bytes(program.ride_blocks);
  return bytes <= plan::kLinePayloadBytes - Addresses::kHead ? Addresses::kBehind : geometry.class_for(bytes);  // -1 is kStays
}

std::byte* Operands::ride_of(const Ref& ref, std::int32_t ride, std::uint64_t ticket) const {
  if (ride != Addresses::kBehind) return here_.segment.slot(ref.local, ref.area, ride, ticket);
  return ref.ring[ticket & (here_.segment.geometry().line_depth - 1)].payload + Addresses::kHead;
}

void Operands::load_ride(const Op& op, const Call& call, std::uint64_t ticket, std::size_t past_from) const {
  const Addresses& mine = of(here_.me);
  std::byte* const table = ride_of(op.dst, mine.ride, ticket);
  End end = end_of(table, op.dst.place);
  std::byte* to = table + table_bytes(mine.ride_blocks) + end * call.element_bytes;
  for (std::uint32_t i = 0; i < op.blocks; ++i) {
    const OneBlock from = own_block(op.a, call, i);
    const std::size_t bytes = from.count * call.element_bytes;
    end += static_cast<End>(from.count);
    if (mine.ride_blocks > 1) std::memcpy(table + (op.dst.place + i) * sizeof end, &end, sizeof end);
    if (bytes > 0) kernels::copy_or_stream(to, from.at, bytes, past_from);
    to += bytes;
  }
}

Operands::OneBlock Operands::ridden(const Ref& ref, std::uint32_t number, std::size_t element_bytes, std::uint64_t ticket) const {
  const Addresses& theirs = of(ref.rank);
  std::byte* const table = ride_of(ref, theirs.ride, ticket);
  if (theirs.ride_blocks <= 1) return {table, theirs.given};
  const std::size_t place = ref.place + number;
  const End begin = end_of(table, place), end = end_of(table, place + 1);
  return {table + table_bytes(theirs.ride_blocks) + begin * element_bytes, end - begin};
}

}  // namespace copse::engine
