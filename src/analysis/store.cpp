// Lays out the memory of all calls, and finds the places that steps name.
#include "analysis/store.hpp"

#include <algorithm>

namespace copse::analysis {

using plan::Operand;
using plan::Space;

Store::Store(const Script& script) : script_(script) {
  const auto count = at(script.ranks());
  messages_.reserve(script.calls());
  for (std::size_t call = 0; call < script.calls(); ++call) {
    const Act& act = script.act(call);
    std::size_t like = 0;  // an earlier call that is cut in the same way
    while (like < call && (script.act(like).cast != act.cast || script.act(like).fragments != act.fragments)) ++like;
    const auto& plans = script.cast_of(call).plans;
    messages_.push_back({like < call ? messages_[like].cuts : Cuts(plans, act.fragments), plans.front()->contents.blocks});
  }
  int scratches = 0;
  for (const Cast& cast : script.casts()) {
    for (const plan::Plan* plan : cast.plans) {
      areas_ = std::max<int>(areas_, plan->areas);
      scratches = std::max<int>(scratches, plan->scratches);
      scratch_depth_ = std::max<std::size_t>(scratch_depth_, plan->scratch_depth);
    }
  }
  buffers_.resize(script.calls() * count * 2);
  buffer_memories_.resize(buffers_.size());
  for (std::size_t call = 0; call < script.calls(); ++call) make_buffers(call);
  const std::size_t rings = count * at(areas_);
  payloads_.resize(rings * at(script.subject().line_depth));
  slots_.resize(rings * at(script.subject().slot_depth));
  scratches_.resize(count * at(scratches) * scratch_depth_);
}

// Makes the buffers of a call. If input and output are one buffer, it is the one that holds more.
void Store::make_buffers(std::size_t call) {
  const ScriptedCall& each = job(call);
  const int ranks = script_.ranks();
  const auto& traits = algorithms::traits_of(each.collective);
  const int owners = each.callers();
  const bool output_holds_more = plan::blocks_in(traits.input, owners) < plan::blocks_in(traits.output, owners);
  for (int rank = 0; rank < ranks; ++rank) {
    Memory* const memories = &buffer_memories_[(call * at(ranks) + at(rank)) * 2];
    const bool one = has_one_buffer(call, rank);
    for (const bool output : {false, true}) {
      Buffer& buffer = buffer_of(call, rank, output);
      const bool which = one ? output_holds_more : output;
      const bool none = output ? !each.has_output_buffer(rank) : !each.has_input_buffer(rank);
      buffer = {&memories[which ? 1 : 0], none ? plan::Extent::none : which ? traits.output : traits.input};
      resize(*buffer.memory, atoms_in(call, buffer.extent));
    }
  }
}

void Store::resize(Memory& memory, std::uint32_t size) {
  if (size > memory.room) {
    const std::size_t first = atoms_.size();
    atoms_.resize(first + size);
    std::copy_n(atoms_.begin() + static_cast<std::ptrdiff_t>(memory.first), memory.size,
                atoms_.begin() + static_cast<std::ptrdiff_t>(first));
    memory.first = first;
    memory.room = size;
  } else if (size > memory.size) {
    std::fill(atoms_of(memory) + memory.size, atoms_of(memory) + size, Atom{});
  }
  memory.size = size;
}

bool Store::has_one_buffer(std::size_t call, int rank) const {
  const ScriptedCall& each = job(call);
  return each.traits().one_buffer || (each.in_place && each.traits().in_place && each.has_input(rank) && each.has_output(rank));
}

std::uint32_t Store::atoms_in(std::size_t call, plan::Extent extent) const {
  const Cuts& cuts = messages_[call].cuts;
  if (extent == plan::Extent::none) return 0;
  if (extent == plan::Extent::message) return cuts.atoms();
  return cuts.fragments() * static_cast<std::uint32_t>(plan::blocks_in(extent, job(call).callers()));
}

Atoms Store::in_buffer(const Moment& now, int owner, bool output, AtomSpan part, const plan::Range& range, std::string& wrong) {
  const Buffer& buffer = buffer_of(now.call, owner, output);
  Atoms place{buffer.memory, part.first, part.size(), -1, part};
  if (buffer.extent == plan::Extent::message) return place;
  const int owners = job(now.call).callers();
  const auto held = static_cast<std::uint32_t>(plan::blocks_in(buffer.extent, owners));
  const std::uint32_t number = messages_[now.call].cuts.one_fragment() ? 0 : static_cast<std::uint32_t>(now.fragment);
  place.wrap = {number * held, held};
  for (std::uint32_t i = 0; i < range.count; ++i) {
    const std::uint32_t block = (range.first + i) % range.of;
    const int index = plan::index_in(buffer.extent, owner, block, owners);
    if (i == 0) place.first = static_cast<std::uint32_t>(std::max(index, 0));
    if (index >= 0 && static_cast<std::uint32_t>(index) == (place.first + i) % held) continue;
    wrong = "block " + std::to_string(block) + " does not lie there";
    place.memory = nullptr;
    break;
  }
  return place;
}

Atoms Store::in_ring(const Moment& now, Memory& memory, const Operand& operand, AtomSpan part, Ticket tag) const {
  const Cuts& cuts = messages_[now.call].cuts;
  const AtomSpan whole = now.section->loop || cuts.one_fragment() ? cuts.fragment(now.fragment) : AtomSpan{0, cuts.atoms()};
  const std::uint32_t blocks = this->blocks(now.call);
  Atoms place{&memory, part.first - whole.first, part.size(), tag, part, whole.size(), true};
  if (blocks == 0) return place;
  place.first = (operand.range.first + blocks - operand.origin) % blocks;
  place.whole = place.first + part.size();
  place.packed = {operand.range.first, blocks};
  return place;
}

Atoms Store::in_scratch(const Moment& now, int owner, const Operand& operand, AtomSpan part) {
  const Cuts& cuts = messages_[now.call].cuts;
  const std::uint32_t blocks = this->blocks(now.call);
  const std::size_t scratches = scratches_.size() / scratch_depth_ / at(script_.ranks());
  // A scratch of whole messages is not a scratch of fragments, unless the two are the same.
  const bool uncut = job(now.call).plans->front().whole_scratch;
  const bool by_ticket = (now.section->loop || cuts.one_fragment()) && !uncut;
  const Ticket tag = by_ticket ? now.ticket : -2 - static_cast<Ticket>(now.call);
  const std::size_t turn = static_cast<std::size_t>(now.ticket) % script_.plan_of(now.call, owner).scratch_depth;
  Atoms place = in_ring(now, scratches_[(at(owner) * scratches + operand.area) * scratch_depth_ + turn], operand, part, tag);
  if (!uncut) return place;
  place.first = blocks == 0 ? part.first : place.first + static_cast<std::uint32_t>(now.fragment) * blocks;
  place.whole = std::max(cuts.atoms(), place.first + place.count);
  return place;
}

Atoms Store::locate(const Moment& now, const Operand& operand, std::string& wrong) {
  const AtomSpan part = messages_[now.call].cuts.span_of(now.section->loop, now.fragment, operand.range);
  const auto ring = [&](std::vector<Memory>& memories, int depth) -> Memory& {
    return memories[(at(operand.rank) * at(areas_) + operand.area) * at(depth) + static_cast<std::size_t>(now.ticket) % at(depth)];
  };
  switch (operand.space) {
    case Space::none: break;
    case Space::input:
    case Space::output: return in_buffer(now, now.rank, operand.space == Space::output, part, operand.range, wrong);
    case Space::peer_input:
    case Space::peer_output: return in_buffer(now, operand.rank, operand.space == Space::peer_output, part, operand.range, wrong);
    case Space::scratch: return in_scratch(now, now.rank, operand, part);
    case Space::peer_scratch: return in_scratch(now, operand.rank, operand, part);
    case Space::line: return in_ring(now, ring(payloads_, script_.subject().line_depth), operand, part, now.ticket);
    case Space::slot: return in_ring(now, ring(slots_, script_.subject().slot_depth), operand, part, now.ticket);
    case Space::ride:
      switch (ride_of(job(now.call).rides, operand.rank)) {
        case Ride::line: return in_ring(now, ring(payloads_, script_.subject().line_depth), operand, part, now.ticket);
        case Ride::slot: return in_ring(now, ring(slots_, script_.subject().slot_depth), operand, part, now.ticket);
        case Ride::stays: wrong = "nothing rides with the publication of rank " + std::to_string(operand.rank) + " in this call";
      }
  }
  return {};
}

}  // namespace copse::analysis
