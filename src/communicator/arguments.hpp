// The arguments of a collective call. One structure serves all collectives.
#pragma once

#include <algorithm>
#include <cstddef>

#include "algorithms/collectives.hpp"
#include "engine/call.hpp"
#include "engine/kernels/kernels.hpp"
#include "engine/outcome.hpp"

namespace copse::communicator {

using engine::Block;
using engine::Outcome;

// Fields that a collective does not have keep their default values. Counts are in elements of `element_bytes` bytes. If nothing
// is reduced, an element is a byte. A barrier has none.
//
// `input` may equal `output` (MPI_IN_PLACE). In a gather, scatter or allgather, one of the two holds only this rank's block,
// and the other holds every rank's. In place then means that one of them is this rank's block within the other.
struct Arguments {
  algorithms::Collective collective{};
  const void* input = nullptr;
  void* output = nullptr;
  std::size_t count = 0;  // elements of the message, of every block, or (ragged gather, scatter) of this rank's block
  std::size_t element_bytes = 1;
  const engine::Combine* combine = nullptr;
  int root = 0;
  const int* permutation = nullptr;  // one entry for each rank (algorithms::Permutation); need not stay until the call is over

  // `ragged` marks calls whose blocks may differ in size or lie anywhere. It is the same on all ranks. Then every buffer that holds
  // blocks of several ranks has a table of them, in the order of the ranks. The tables of all ranks must agree on the sizes. Calls
  // among neighbours are always ragged, and where there is no edge, the block is empty. If they are `alike`, all other blocks of
  // all ranks are of one size.
  bool ragged = false, alike = false;
  const Block *input_blocks = nullptr, *output_blocks = nullptr;
};

// Returns the count of the largest block of a table, or 0 if there is no table.
inline std::size_t largest(const Block* blocks, int ranks) {
  std::size_t most = 0;
  for (int i = 0; blocks != nullptr && i < ranks; ++i) most = std::max(most, blocks[i].count);
  return most;
}

// Returns the count of the largest block in both tables.
inline std::size_t largest(const Arguments& arguments, int ranks) {
  return std::max(largest(arguments.input_blocks, ranks), largest(arguments.output_blocks, ranks));
}

// A copy between two buffers of this rank. If it has no bytes, there is none.
struct OwnCopy {
  void* to = nullptr;
  const void* from = nullptr;
  std::size_t bytes = 0;
  void make() const {
    if (bytes > 0) kernels::copy(to, from, bytes);
  }
};

// When ranks may touch one another's buffers, and where these lie.
struct Relaxation {
  plan::Modes modes;  // placed
  engine::Window window;
  OwnCopy beside;  // made where the call would wait for others to be done, or behind the call; they leave its buffers alone
};

}  // namespace copse::communicator
