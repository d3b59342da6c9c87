// Collectives over blocks, or over the tiles of a fragment, that go in rounds. A schedule says who gives which blocks to whom. The
// same schedule serves two purposes: forwards it gathers blocks, backwards it combines them.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "algorithms/patterns/patterns.hpp"

namespace copse::algorithms {

// The blocks that one rank has for another, as ranges of one block for each rank.
struct Parcel {
  int rank;
  std::vector<plan::Range> blocks;
};
// What one rank gives in a round, and then takes.
struct Round {
  std::vector<Parcel> given, taken;
};
using Rounds = std::vector<Round>;

// Returns the blocks as runs of neighbours, in ascending order.
[[nodiscard]] std::vector<plan::Range> runs_of(std::vector<int> blocks, int ranks);

// The schedules of an allgather, for one rank. In each round, a rank gives only what it has: in the first round its own
// block, later also what it took in earlier rounds.
// Blocks go round a ring: each rank gives to the next one or, if `way` is -1, to the previous one what it took last.
[[nodiscard]] Rounds ring_rounds(int ranks, int rank, int way = 1);
// The ranks are halved again and again. In the round of two halves, each rank takes all that its image in the other half has.
// Halves may differ by one rank; then one rank has two readers.
[[nodiscard]] Rounds doubling_rounds(int ranks, int rank);
// In round i, ranks have radix^i blocks, from their own on. They take those of the radix - 1 ranks that follow at multiples
// of that distance (Bruck et al. 1997).
[[nodiscard]] Rounds bruck_rounds(int ranks, int rank, int radix);
// Like bruck_rounds, but in each round ranks have half as many blocks as in the next one, rounded up (Traeff 2024).
[[nodiscard]] Rounds circulant_rounds(int ranks, int rank);
// Neighbours exchange pairs of blocks, to the left and to the right in turn (Chen et al. 2005). If the number of ranks is
// odd, it is a ring.
[[nodiscard]] Rounds neighbor_rounds(int ranks, int rank);
// Partners are at distances 1, 1, 3, 5, 11, ... on alternating sides (De Sensi et al. 2025). Each rank beyond a power of two
// has a neighbour that stands for both.
[[nodiscard]] Rounds bine_rounds(int ranks, int rank);
// Blocks go up the trees of a forest, then from root to root. Then the blocks of all other ranks come down to each branch.
[[nodiscard]] Rounds forest_rounds(const shape::Tree& forest, int rank);
// Flat inside each node, k-nomial between the nodes' leaders (UPC PROP).
[[nodiscard]] Rounds prop_rounds(const Request& request);

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

// Inside a loop: combines tile i of the message, or block i, for rank i (movement-avoiding, socket-aware: Peng et al. 2023).
// In every socket, the tile goes round the ranks of the socket, and each rank adds its input. At the end, a rank has the
// tiles of the ranks that have its position in their sockets. It gives these tiles to them, and each of them combines what it
// gets in `result`. `home`, an output or a slot, is where partial results lie if neither line nor slot carries them. Uses areas 0
// and 2. Rank order is not kept.
void reduce_scatter_sockets(plan::Builder& builder, const Request& request, plan::Space home, plan::Operand result);

// For an alltoall: returns the blocks that `from` has for the ranks of a group, as runs of neighbours.
[[nodiscard]] std::vector<plan::Range> pair_runs(const Request& request, int from, const Group& to);
// Returns the operand for blocks that lie from index `index` on in a line, slot or scratch.
[[nodiscard]] plan::Operand placed(plan::Operand place, std::uint32_t index);
// Returns placed() of a line or slot, and any other operand unchanged.
[[nodiscard]] plan::Operand placed_if_staged(const plan::Operand& operand, std::uint32_t index);

// Blocks that are given one in each round, each to one rank. They use two places in turn, and a rank that has taken a block
// says so. So a line or slot holds only one block, whatever the number of blocks. Uses three areas, from `area` on.
class TwoPlaces {
 public:
  TwoPlaces(plan::Builder& builder, int area, int rounds);

  void give(int round, int reader, plan::Operand value);
  // Opens a block that is computed into its place. Unless that is a line, it is a slot, whatever the carrier. So the caller
  // must call Builder::keep_in_slots().
  [[nodiscard]] plan::Operand open(int round, int reader, plan::Range block);
  void post(int round, int reader, plan::Operand value);
  [[nodiscard]] plan::Operand take(int round, int from, plan::Operand as, plan::Operand home);
  // Returns what `open` returns, as another rank names it.
  [[nodiscard]] static plan::Operand opened(plan::Range block) { return {plan::Space::slot, 0, -1, block}; }
  void taken(int round, int from, plan::Operand value);

 private:
  void await_turn(int round);
  [[nodiscard]] int area(int round) const { return area_ + round % 2; }

  plan::Builder& builder_;
  int area_;
  std::vector<int> waits_for_;  // by round: the rank that says when it has taken the block; -1: none
};

}  // namespace copse::algorithms
