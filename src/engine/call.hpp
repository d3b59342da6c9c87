// A call: what is bound when a plan runs.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/combine.hpp"
#include "engine/signal/order.hpp"

namespace copse::engine {

// A block in a buffer: bytes from its begin, and elements.
struct Block {
  std::ptrdiff_t offset = 0;
  std::size_t count = 0;
};

// Where the buffers of all ranks lie, if each rank knows that without being told. The buffers of rank r begin r * stride bytes
// behind those of rank 0. The addresses are valid on this rank.
struct Window {
  std::byte *input = nullptr, *output = nullptr;
  std::ptrdiff_t stride = 0;
  std::int32_t root = -1;  // if each rank has one buffer: the buffer of rank `root` is the input, and the others are outputs

  [[nodiscard]] std::byte* input_of(std::int32_t rank) const { return (root < 0 || rank == root ? input : output) + rank * stride; }
  [[nodiscard]] std::byte* output_of(std::int32_t rank) const { return (rank == root ? input : output) + rank * stride; }
};

// Everything except the addresses and `order` is the same on all ranks, unless the call is one of untold sizes.
// Many fields: they are what a call binds, on the path of every short call. Smaller structures would still be filled one at a
// time.
struct Call {
  const void* input = nullptr;
  void* output = nullptr;
  std::size_t count = 0;  // elements
  std::size_t element_bytes = 1;
  std::size_t fragment_count = 0;  // elements of a fragment (the last may have fewer); 0: one fragment
  int slot_class = 0;
  const Combine* combine = nullptr;  // reductions only
  std::uint64_t number = 0;  // counts the calls that all ranks make, from 1; calls without data count, too
  const Order* order = nullptr;  // what helpers must know of the call; null: this rank has no helpers

  // In a call whose message is made of blocks, `count` is the size of the largest block. If the blocks differ in size or
  // place, the call is `ragged` on all ranks. Then every buffer that holds blocks of several ranks has a table of them, in
  // the order of the ranks. `sizes` holds the elements of every rank's block and is the same on all ranks. It is null for
  // blocks of pairs of ranks, whose sizes both ends know. In a call that is not ragged, the blocks of a buffer lie one after
  // the other. In a ragged call that is `alike`, all blocks that the plan moves have `count` elements.
  bool ragged = false, alike = false;
  const std::size_t* sizes = nullptr;
  const Block *input_blocks = nullptr, *output_blocks = nullptr;

  // In a call of `untold` sizes, only the ranks that a size concerns know it. Such a call is ragged. `own` is the size of this
  // rank's block, and `count` is the size of the largest block that this rank knows of. With its publication, the rank tells the
  // others `told` (docs/decisions/one-way.md).
  bool untold = false;
  std::size_t own = 0;
  std::uint64_t told = 0;
  std::size_t ride_bytes = 0;  // values of up to this size ride, where the plan lets them

  const Window* window = nullptr;  // required by programs that are `placed`

  [[nodiscard]] std::uint64_t fragments() const {
    return fragment_count == 0 || count <= fragment_count ? 1 : (count + fragment_count - 1) / fragment_count;
  }
};

}  // namespace copse::engine
