// The checker's memory: buffers, scratches, lines and slots of all ranks, on symbols.
//
// Every memory (buffer, scratch, line payload, slot) is an array of atoms (cuts.hpp). An atom has a value and the accesses
// that later ones may conflict with. Memory that is reused carries a tag, which is the ticket that it was written for.
// Buffers are addressed by message, the others by fragment.
//
// Sweeps make millions of short runs. So what exists once for each rank, call or ticket is not allocated separately: one
// array holds all of them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "analysis/cuts.hpp"
#include "analysis/order.hpp"
#include "analysis/value.hpp"
#include "analysis/walk.hpp"

namespace copse::analysis {

struct Atom {
  Values::Id value = Values::kNothing;
  std::uint32_t block = 0;  // the block that was written there, if blocks are packed
  Accesses accesses;
};
struct Memory {
  Ticket tag = -1;
  std::size_t first = 0;             // index in the store's atoms
  std::uint32_t size = 0, room = 0;  // number of atoms, and how many there may be without a move
};
// Some atoms of a memory, for one ticket.
struct Atoms {
  struct Wrap {  // blocks that wrap around: atom base + (first + i) % around
    std::uint32_t base = 0, around = 0;
  };
  struct Packed {  // if blocks are packed: the first one, and how many there are
    std::uint32_t first = 0, number = 1;
  };

  Memory* memory = nullptr;  // null: no such place
  std::uint32_t first = 0, count = 0;
  Ticket tag = 0;
  AtomSpan part{};          // part of the message
  std::uint32_t whole = 0;  // atoms of the memory, if it must be renewed
  bool reused = false;      // by other tickets
  Wrap wrap{};
  Packed packed{};

  [[nodiscard]] std::uint32_t block_at(std::uint32_t i) const { return (packed.first + i) % packed.number; }
  [[nodiscard]] std::uint32_t index(std::uint32_t i) const {
    return wrap.around == 0 ? first + i : wrap.base + (first + i) % wrap.around;
  }
};

class Store {
 public:
  struct Buffer {
    Memory* memory;
    plan::Extent extent;
  };

  explicit Store(const Script& script);  // keeps a reference to it

  // Returns how the message of a call is cut, and how many blocks it is made of.
  [[nodiscard]] const Cuts& cuts(std::size_t call) const { return messages_[call].cuts; }
  [[nodiscard]] std::uint32_t blocks(std::size_t call) const { return messages_[call].blocks; }
  // Returns where an operand lies. If it does not lie where the step says, the place has no memory, and `wrong` says why.
  [[nodiscard]] Atoms locate(const Moment& now, const plan::Operand& operand, std::string& wrong);

  [[nodiscard]] Buffer& buffer_of(std::size_t call, int rank, bool output) {
    return buffers_[(call * at(script_.ranks()) + at(rank)) * 2 + (output ? 1 : 0)];
  }
  // Returns all scratches of a rank.
  [[nodiscard]] std::span<const Memory> scratches_of(int rank) const {
    const std::size_t each = scratches_.size() / at(script_.ranks());
    return std::span(scratches_).subspan(at(rank) * each, each);
  }
  [[nodiscard]] Atom* atoms_of(const Memory& memory) { return atoms_.data() + memory.first; }
  void resize(Memory& memory, std::uint32_t size);  // keeps the contents

  // Visits what a rank has of the message in its input or output.
  template <class Visit>  // (atom, its place in the message)
  void each_atom(std::size_t call, int rank, bool output, Visit&& visit);

 private:
  struct Message {  // the message of a call
    Cuts cuts;
    std::uint32_t blocks;  // blocks that it is made of
  };
  [[nodiscard]] const ScriptedCall& job(std::size_t call) const { return script_.subject().calls[call]; }
  [[nodiscard]] bool has_one_buffer(std::size_t call, int rank) const;
  [[nodiscard]] std::uint32_t atoms_in(std::size_t call, plan::Extent extent) const;
  void make_buffers(std::size_t call);
  [[nodiscard]] Atoms in_buffer(const Moment& now, int owner, bool output, AtomSpan part, const plan::Range& range,
                                std::string& wrong);
  [[nodiscard]] Atoms in_scratch(const Moment& now, int owner, const plan::Operand& operand, AtomSpan part);
  [[nodiscard]] Atoms in_ring(const Moment& now, Memory& memory, const plan::Operand& operand, AtomSpan part, Ticket tag) const;

  const Script& script_;
  int areas_ = 1;
  std::vector<Message> messages_;  // by call
  std::vector<Atom> atoms_;
  std::vector<Buffer> buffers_;          // [call][rank][input, output]
  std::vector<Memory> buffer_memories_;  // likewise; if a rank's two buffers are one, one of these is not used
  std::size_t scratch_depth_ = 1;        // the most that a plan has
  std::vector<Memory> payloads_, slots_, scratches_;
};

template <class Visit>
void Store::each_atom(std::size_t call, int rank, bool output, Visit&& visit) {
  const auto& traits = algorithms::traits_of(job(call).collective);
  const plan::Extent extent = output ? traits.output : traits.input;
  const Buffer& buffer = buffer_of(call, rank, output);
  const Cuts& cuts = messages_[call].cuts;
  if (buffer.extent == plan::Extent::none || extent == plan::Extent::none) return;
  if (extent == plan::Extent::message) {
    for (std::uint32_t i = 0; i < cuts.atoms(); ++i) visit(atoms_of(*buffer.memory)[i], i);
    return;
  }
  const int owners = job(call).callers();
  const auto held = static_cast<std::uint32_t>(plan::blocks_in(buffer.extent, owners));
  for (std::uint32_t fragment = 0; fragment < cuts.fragments(); ++fragment) {
    for (int i = 0; i < plan::blocks_in(extent, owners); ++i) {
      const std::uint32_t block = plan::block_at(extent, rank, i, owners);
      const auto index = static_cast<std::uint32_t>(plan::index_in(buffer.extent, rank, block, owners));
      visit(atoms_of(*buffer.memory)[fragment * held + index], cuts.fragment(static_cast<int>(fragment)).first + block);
    }
  }
}

}  // namespace copse::analysis
