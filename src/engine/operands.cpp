// Finds the places of operands.
#include "engine/operands.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "shape/partition.hpp"

namespace copse::engine {

void Operands::size_scratch(const Program& program, const Call& call, bool one_fragment) {
  const bool whole = program.scratch_whole || one_fragment;
  const std::size_t elements = (whole ? call.count : call.fragment_count) * program.scratch_blocks;
  scratch_stride_ = (elements * call.element_bytes + 63) / 64 * 64;
  scratch_depth_ = one_fragment ? 1 : program.scratch_depth;
  const std::size_t bytes = scratch_stride_ * program.scratches * scratch_depth_;
  if (bytes > kScratchKept) {
    borrowed_ = pool_.take(bytes);
    scratch_ = borrowed_.at.get();
  } else {
    if (kept_.bytes < bytes) kept_ = ScratchMemory(bytes);
    scratch_ = kept_.at.get();
  }
}

void Operands::end() noexcept {
  if (!borrows()) return;
  pool_.give_back(std::move(borrowed_));
  borrowed_ = {};
}

void Operands::publish(const Call& call, std::byte* payload) {
  Addresses& mine = addresses_[static_cast<std::size_t>(here_.me)];
  mine.input = reinterpret_cast<std::uintptr_t>(call.input);
  mine.output = reinterpret_cast<std::uintptr_t>(call.output);
  mine.scratch = reinterpret_cast<std::uintptr_t>(scratch_);
  mine.input_blocks = reinterpret_cast<std::uintptr_t>(call.input_blocks);
  mine.output_blocks = reinterpret_cast<std::uintptr_t>(call.output_blocks);
  mine.scratch_stride = scratch_stride_;
  mine.told = call.told;
  // Each size is known when this is compiled, so that each copy is a few moves.
  if (mine.ride == Addresses::kStays) std::memcpy(payload, &mine, sizeof mine);
  else std::memcpy(payload, &mine, Addresses::kHead);
}

const Addresses& Operands::take_publication(int rank, const std::byte* payload) {
  Addresses& theirs = addresses_[static_cast<std::size_t>(rank)];
  void* const to = &theirs;
  std::memcpy(to, payload, Addresses::kHead);
  if (theirs.ride == Addresses::kStays) std::memcpy(to, payload, sizeof theirs);
  stayed_ += theirs.ride == Addresses::kStays ? 1 : 0;
  return theirs;
}

Located Operands::place(const Ref& ref, const Call& call, const Fragment& fragment) {
  std::size_t offset = 0, count = fragment.count;
  if (ref.range.of != 1) {
    const shape::Chunk chunk =
        shape::Partition(fragment.count, call.element_bytes, ref.range.of).chunks(ref.range.first, ref.range.count);
    offset = chunk.first;
    count = chunk.count;
  }
  const std::size_t in_fragment = offset * call.element_bytes;
  return at(ref, call, fragment, in_fragment, in_fragment + fragment.first * call.element_bytes, count);
}

Located Operands::at(const Ref& ref, const Call& call, const Fragment& fragment, std::size_t in_fragment, std::size_t in_message,
                     std::size_t count) {
  const auto published = [&](std::uintptr_t address) {
    const Peer& peer = here_.peer(ref.rank);
    return Located{peer.direct(address), address, &peer, count};
  };
  const auto near = [count](std::byte* place) { return Located{place, 0, nullptr, count}; };
  switch (ref.space) {
    case plan::Space::none: break;
    case plan::Space::input: return near(static_cast<std::byte*>(const_cast<void*>(call.input)) + in_message);
    case plan::Space::output: return near(static_cast<std::byte*>(call.output) + in_message);
    case plan::Space::scratch: return near(scratch(ref.area, fragment.ticket) + (ref.whole ? in_message : in_fragment));
    case plan::Space::line:
      return near(ref.ring[fragment.ticket & (here_.segment.geometry().line_depth - 1)].payload + in_fragment);
    case plan::Space::slot: return near(here_.segment.slot(ref.local, ref.area, call.slot_class, fragment.ticket) + in_fragment);
    case plan::Space::peer_input:
      return call.window != nullptr ? near(call.window->input_of(ref.rank) + in_message)
                                    : published(of(ref.rank).input + in_message);
    case plan::Space::peer_output:
      return call.window != nullptr ? near(call.window->output_of(ref.rank) + in_message)
                                    : published(of(ref.rank).output + in_message);
    case plan::Space::peer_scratch: return published(of(ref.rank).scratch + ref.area * of(ref.rank).scratch_stride + in_message);
    case plan::Space::ride: break;  // always made of blocks: see ridden()
  }
  return {};
}

std::uint32_t Operands::run_of(const Ref& ref, const Call& call, const Fragment& fragment, std::uint32_t number,
                               std::uint32_t most) const {
  if (ref.space == plan::Space::none) return most;
  if (ref.space == plan::Space::ride) return 1;
  if (call.ragged || fragment.count != call.count) return 1;  // pieces of blocks are not contiguous
  if (ref.places == 0) return most;
  return std::min(most, ref.places - (ref.place + number) % ref.places);
}

Located Operands::block(const Ref& ref, const Call& call, const Fragment& fragment, std::uint32_t number, std::uint32_t run) {
  if (ref.space == plan::Space::ride) {
    const OneBlock found = ridden(ref, number, call.element_bytes, fragment.ticket);
    return {found.at, 0, nullptr, found.count};
  }
  if (call.ragged) return ragged_block(ref, call, fragment, number);
  const std::size_t size = call.element_bytes;
  const std::size_t place = ref.places == 0 ? ref.place + number : (ref.place + number) % ref.places;
  const std::size_t left = call.count - std::min(call.count, fragment.first);
  const std::size_t count = run > 1 ? run * call.count : std::min(left, fragment.count);
  return at(ref, call, fragment, place * fragment.count * size, (place * call.count + fragment.first) * size, count);
}

Located Operands::ragged_block(const Ref& ref, const Call& call, const Fragment& fragment, std::uint32_t number) {
  const auto nth = [number](std::uint32_t first, std::uint32_t end) {
    const std::uint32_t n = first + number;
    return end == 0 || n < end ? n : n % end;  // a division would take as long as a short copy
  };
  const std::size_t size = call.element_bytes;
  const auto ranks = static_cast<std::uint32_t>(here_.peers.size());
  const std::size_t place = nth(ref.place, ref.places);
  std::size_t whole = call.untold             ? (ref.places == 1 ? call.own : ~std::size_t{0})  // as the table says
                      : call.sizes != nullptr ? call.sizes[nth(ref.range.first, ref.range.of)]
                      : call.alike            ? call.count
                      : ref.pair < ranks      ? call.input_blocks[ref.pair + number].count
                                              : call.output_blocks[ref.pair - ranks].count;
  Block entry{static_cast<std::ptrdiff_t>(place * call.count * size), whole};  // in a scratch, the blocks lie one after the other
  const bool known = look_up(ref, call, place, entry);
  // Never takes more than the owner of the buffer says there is, because the sizes that two ranks mean may differ.
  whole = std::min(whole, entry.count);
  const std::size_t count = call.untold ? whole : std::min(whole - std::min(whole, fragment.first), fragment.count);
  Located result =
      at(ref, call, fragment, place * fragment.count * size, static_cast<std::size_t>(entry.offset) + fragment.first * size, count);
  result.known = known;
  return result;
}

// Finds the entry of a buffer's table, if it has one. Returns false if the table belongs to a peer and could not be read.
bool Operands::look_up(const Ref& ref, const Call& call, std::size_t place, Block& entry) const {
  const auto here = [&](const Block* table) {
    if (table != nullptr) entry = table[place];
    return true;
  };
  const auto there = [&](std::uintptr_t table) {
    if (table == 0) return true;
    const Peer& peer = here_.peer(ref.rank);
    const std::uintptr_t address = table + place * sizeof entry;
    const std::byte* const direct = peer.direct(address);
    if (direct == nullptr) return kernel_read(peer, &entry, address, sizeof entry);
    std::memcpy(&entry, direct, sizeof entry);
    return true;
  };
  switch (ref.space) {
    case plan::Space::input: return here(call.input_blocks);
    case plan::Space::output: return here(call.output_blocks);
    case plan::Space::peer_input: return there(of(ref.rank).input_blocks);
    case plan::Space::peer_output: return there(of(ref.rank).output_blocks);
    default: return true;
  }
}

}  // namespace copse::engine
