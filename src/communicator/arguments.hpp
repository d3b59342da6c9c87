// The arguments of a collective call, alike for all collectives.
#pragma once

#include <cstddef>

#include "algorithms/collectives.hpp"
#include "engine/call.hpp"

namespace copse::communicator {

using engine::Block;

// What a collective does not have stays as it is. Counts are in elements of `element_bytes`; where nothing is reduced an
// element is a byte.
//
// `input` may equal `output` (MPI_IN_PLACE). Where one of them holds this rank's block alone and the other every rank's
// (gather, scatter, allgather), in place means that it is that block there: a pointer into the other.
struct Arguments {
  algorithms::Collective collective{};
  const void *input = nullptr;
  void *output = nullptr;
  std::size_t count = 0;  // of the message; of every block; of this rank's block in a ragged gather or scatter
  std::size_t element_bytes = 1;
  const engine::Combine *combine = nullptr;
  int root = 0;
  const int *permutation = nullptr;  // of all ranks (algorithms::Permutation); it need not stay until the call is over

  // The v-variants: on all ranks alike. Every buffer that holds blocks of several ranks has a table of them, in the order
  // of ranks; every rank's tables must agree on the sizes.
  bool ragged = false;
  const Block *input_blocks = nullptr, *output_blocks = nullptr;
};

}  // namespace copse::communicator
