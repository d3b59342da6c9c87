// Where the operands of a plan lie: in this rank's buffers and scratch, in lines and slots, or at the addresses that other
// ranks have published.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/call.hpp"
#include "engine/neighbours.hpp"
#include "engine/program.hpp"
#include "engine/scratch.hpp"

namespace copse::engine {

struct Fragment {  // what the current step works on
  std::size_t first, count;  // elements of the message, or of each of its blocks
  std::uint64_t ticket;
};

// A resolved operand. It lies here, or at an address of a peer that only the kernel reaches.
struct Located {
  std::byte* here = nullptr;
  std::uintptr_t there = 0;
  const Peer* peer = nullptr;
  std::size_t count = 0;
  bool known = true;  // false: the peer's table of places could not be read
};

// What a rank publishes. If the rank's value rides, it publishes the head alone, because nobody needs the addresses. A short value
// then comes right behind the head, so that it and the line's word take one fetch of 64 bytes.
struct Addresses {
  std::int32_t ride = kStays;  // slot class of this rank's ride; kBehind: behind the head in the line; kStays: it does not ride
  std::uint32_t ride_blocks = 0;  // blocks that the ride is made of
  std::size_t given = 0;  // elements of the block if there is only one, whether it rides or not
  std::uint64_t told = 0;  // see Call
  std::uintptr_t input = 0, output = 0, scratch = 0;
  std::uintptr_t input_blocks = 0, output_blocks = 0;  // tables of ragged calls
  std::size_t scratch_stride = 0;

  static constexpr std::int32_t kStays = -1, kBehind = kSlotClasses;
  static constexpr std::size_t kHead = 24;
};
static_assert(offsetof(Addresses, input) == Addresses::kHead && sizeof(Addresses) <= plan::kLinePayloadBytes);

class Operands {
 public:
  Operands(const Neighbours& here, ScratchPool& pool) : here_(here), pool_(pool), addresses_(here.peers.size()) {}

  // Begins a call and decides where this rank's value rides in it. No other rank needs to know that before the publication
  // says it.
  void begin(const Program& program, const Call& call, bool one_fragment) {
    if (program.scratches > 0) size_scratch(program, call, one_fragment);
    Addresses& mine = addresses_[static_cast<std::size_t>(here_.me)];
    mine.ride = Addresses::kStays;
    mine.ride_blocks = program.ride_blocks;
    if (program.ride_blocks > 0) mine.ride = choose_ride(program, call);
    stayed_ = mine.ride == Addresses::kStays ? 1 : 0;
  }
  // borrows() tells whether this call has a scratch from the pool. A call that needs little or none has not. end() gives it back.
  [[nodiscard]] bool borrows() const { return borrowed_.bytes > 0; }
  void end() noexcept;
  // Gives back the scratch that is kept from call to call. Nobody may read it any more.
  void forget_scratch() { kept_ = {}; }

  // publish() writes what this rank publishes, and take_publication() takes what another rank has published.
  void publish(const Call& call, std::byte* payload);
  const Addresses& take_publication(int rank, const std::byte* payload);
  [[nodiscard]] const Addresses& of(int rank) const { return addresses_[static_cast<std::size_t>(rank)]; }
  // Tells whether the values of all ranks ride in this call. This is known once all publications have been taken.
  [[nodiscard]] bool all_ride() const { return stayed_ == 0; }
  // Tells whether the condition of a step holds.
  [[nodiscard]] bool holds(const Op& op) const {
    const bool rides = op.whose == plan::kEveryone ? all_ride() : of(op.whose).ride != Addresses::kStays;
    return rides == (op.when == plan::When::rides);
  }
  // Returns the class of the slots that an acquire is for. kStays and kBehind mean that there are none.
  [[nodiscard]] std::int32_t slots_of(const Op& op, const Call& call) const {
    return op.slot ? call.slot_class : op.ride ? of(here_.me).ride : Addresses::kStays;
  }

  // Locates an operand in a message that is not made of blocks.
  [[nodiscard]] Located place(const Ref& ref, const Call& call, const Fragment& fragment);
  // block() locates block `number` of an operand and the `run` - 1 blocks that follow it contiguously. run_of() returns such
  // a `run`.
  [[nodiscard]] Located block(const Ref& ref, const Call& call, const Fragment& fragment, std::uint32_t number, std::uint32_t run);
  [[nodiscard]] std::uint32_t run_of(const Ref& ref, const Call& call, const Fragment& fragment, std::uint32_t number,
                                     std::uint32_t most) const;
  [[nodiscard]] std::byte* scratch(int number, std::uint64_t ticket) {
    const std::size_t turn = scratch_depth_ == 1 ? 0 : ticket % scratch_depth_;
    return scratch_ + (static_cast<std::size_t>(number) * scratch_depth_ + turn) * scratch_stride_;
  }

  // One block of the input, of the output or of a ride, in a call with tables.
  struct OneBlock {
    std::byte* at;
    std::size_t count;
  };
  [[nodiscard]] OneBlock one_block(const Ref& ref, const Call& call, std::uint64_t ticket) const {
    return ref.space == plan::Space::ride ? ridden(ref, 0, call.element_bytes, ticket) : own_block(ref, call, 0);
  }
  // Puts the blocks of op.a where they ride. Blocks of at least `past_from` bytes are stored past the caches.
  void load_ride(const Op& op, const Call& call, std::uint64_t ticket, std::size_t past_from) const;

 private:
  void size_scratch(const Program& program, const Call& call, bool one_fragment);
  [[nodiscard]] Located at(const Ref& ref, const Call& call, const Fragment& fragment, std::size_t in_fragment,
                           std::size_t in_message, std::size_t count);
  [[nodiscard]] Located ragged_block(const Ref& ref, const Call& call, const Fragment& fragment, std::uint32_t number);
  [[nodiscard]] bool look_up(const Ref& ref, const Call& call, std::size_t place, Block& entry) const;
  // These are in rides.cpp.
  [[nodiscard]] std::int32_t choose_ride(const Program& program, const Call& call);
  [[nodiscard]] std::size_t own_count(const Call& call) const {
    if (call.untold) return call.own;
    return call.sizes != nullptr ? call.sizes[here_.me] : call.count;
  }
  [[nodiscard]] OneBlock own_block(const Ref& ref, const Call& call, std::uint32_t number) const;
  [[nodiscard]] OneBlock ridden(const Ref& ref, std::uint32_t number, std::size_t element_bytes, std::uint64_t ticket) const;
  [[nodiscard]] std::byte* ride_of(const Ref& ref, std::int32_t ride, std::uint64_t ticket) const;

  static constexpr std::size_t kScratchKept = 16384;  // bytes; for less, borrowing would take a notable part of the call

  const Neighbours& here_;
  ScratchPool& pool_;
  std::vector<Addresses> addresses_;  // published in the current call, by rank
  ScratchMemory kept_, borrowed_;
  std::byte* scratch_ = nullptr;  // scratch of this call, in kept_ or borrowed_
  std::size_t scratch_stride_ = 0;
  std::size_t scratch_depth_ = 1;  // depth in this call: one fragment needs no more than 1
  int stayed_ = 0;  // ranks whose values are known not to ride
};

inline Operands::OneBlock Operands::own_block(const Ref& ref, const Call& call, std::uint32_t number) const {
  const bool gives = ref.space == plan::Space::input;
  const Block* const table = gives ? call.input_blocks : call.output_blocks;
  auto* const buffer = static_cast<std::byte*>(gives ? const_cast<void*>(call.input) : call.output);
  std::size_t place = ref.places > 1 ? ref.place + number : 0;
  if (ref.places > 1 && place >= ref.places) place -= ref.places;  // a division would take as long as a short copy
  if (table != nullptr) return {buffer + table[place].offset, table[place].count};
  return {buffer + place * call.count * call.element_bytes, ref.places > 1 ? call.count : own_count(call)};
}

}  // namespace copse::engine
