// A call: what is bound when a plan runs.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/combine.hpp"

namespace copse::engine {

// A block in a buffer: bytes from its begin, and elements.
struct Block {
  std::ptrdiff_t place = 0;
  std::size_t count = 0;
};

// Everything but the addresses is the same on all ranks.
// Many fields: it is what a call binds, on the way of every short call. Parts of it would be filled one by one all the same.
struct Call {
  const void *input = nullptr;
  void *output = nullptr;
  std::size_t count = 0;           // elements
  std::size_t element_bytes = 1;
  std::size_t fragment_count = 0;  // elements of a fragment (the last may have fewer); 0: one fragment
  int slot_class = 0;
  const Combine *combine = nullptr;  // reductions only
  std::uint64_t number = 0;          // among the calls that all ranks make, from 1 on; those that have no data count, too

  // Of a message made of blocks, `count` is the size of the largest. Where they differ in size or place, the call is
  // `ragged`, on all ranks: then the buffers that hold blocks of several ranks have tables of them, in their order, and
  // `sizes` are the elements of every rank's block, alike on all ranks (null for pairs, whose size both ends know).
  // Elsewhere a buffer's blocks lie one after the other.
  bool ragged = false;
  const std::size_t *sizes = nullptr;
  const Block *input_blocks = nullptr, *output_blocks = nullptr;

  // A ragged call whose sizes nobody knows but the ranks that they concern: `own` is that of this rank's block, `count` that of
  // the largest it knows of. With its publication it tells the others `told` (docs/decisions/one-way.md).
  bool one_way = false;
  std::size_t own = 0;
  std::uint64_t told = 0;
  std::size_t ride_bytes = 0;  // values of up to so many bytes ride, where the plan lets them

  [[nodiscard]] std::uint64_t fragments() const {
    return fragment_count == 0 || count <= fragment_count ? 1 : (count + fragment_count - 1) / fragment_count;
  }
};

}  // namespace copse::engine
