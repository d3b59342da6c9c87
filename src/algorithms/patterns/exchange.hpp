// Collectives over blocks, or over the tiles of a fragment, that go in rounds (rounds.hpp), and what they may leave out. The same
// schedule serves two purposes: forwards it gathers blocks, backwards it combines them.
#pragma once

#include <functional>

#include "algorithms/patterns/rounds.hpp"
#include "algorithms/patterns/tile_trees.hpp"

namespace copse::algorithms {

// Returns the rounds of this rank without the blocks that their taker already has. Rank r has `held[r]`.
[[nodiscard]] Rounds lacking(Rounds rounds, int rank, const Held& held);

// The block with which a rank's packed blocks begin: block 0 or, for schedules whose ranges wrap around, its own block.
enum class From : bool { zero, own };

// Inside a loop, on the blocks of a message, or on the tiles of a fragment, of which tile i belongs to rank i: brings all blocks to
// all outputs, in these rounds. `mine` is what this rank has at the beginning, and where: in its input or output, or in the line or
// slot that it has opened for its readers. Uses area `area`. Tiles go From::zero.
void allgather_in(plan::Builder& builder, const Request& request, int area, const Rounds& rounds, From from, plan::Operand mine);
// A rank has its input's block at the beginning.
inline void allgather_in(plan::Builder& builder, const Request& request, int area, const Rounds& rounds, From from) {
  allgather_in(builder, request, area, rounds, from, plan::Builder::input(request.block(request.rank)));
}

// Inside a loop, on blocks or tiles: runs the rounds backwards, and combines every rank's input. This rank's block is stored in
// `result`. Uses area `area`. `home`, an output or a slot, is where partial results lie if neither line nor slot carries them.
// Rank order is not kept. The caller reclaims the buffers from those that it takes from in these rounds.
void reduce_scatter_in(plan::Builder& builder, const Request& request, int area, const std::function<Rounds(int rank)>& rounds_of,
                       From from, plan::Space home, plan::Operand result);

}  // namespace copse::algorithms
