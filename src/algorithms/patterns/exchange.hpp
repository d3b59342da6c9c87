// Collectives over blocks that go in rounds. A schedule says who gives which blocks to whom. The same schedule serves twice:
// forwards it gathers blocks, backwards it combines them.
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

// The schedules of an allgather, for one rank. A rank has what it gives by then; in the first round, that is its own block.
// In the ring, blocks go round: each rank gives the next one what it got last.
[[nodiscard]] Rounds ring_rounds(int ranks, int rank);
// The ranks are halved again and again. In the round of two halves, each rank takes all that its image in the other half has.
// Halves may differ by one rank; then one rank has two readers.
[[nodiscard]] Rounds doubling_rounds(int ranks, int rank);
// In round i, ranks have radix^i blocks, from their own on. They take those of the radix - 1 ranks that follow at multiples
// of that distance (Bruck et al. 1997).
[[nodiscard]] Rounds bruck_rounds(int ranks, int rank, int radix);
// Like Bruck's, but the number of blocks is half of the next round's, rounded up (Traeff 2024).
[[nodiscard]] Rounds circulant_rounds(int ranks, int rank);
// Neighbours exchange pairs of blocks, to the left and right in turn (Chen et al. 2005). With an odd number of ranks, it is a
// ring.
[[nodiscard]] Rounds neighbor_rounds(int ranks, int rank);
// Partners are at distances 1, 1, 3, 5, 11, ... to alternating sides (De Sensi et al. 2025). Each rank beyond a power of two
// has a neighbour that stands for both.
[[nodiscard]] Rounds bine_rounds(int ranks, int rank);
// Blocks go up the trees of a forest, then from root to root, and the blocks of all others come down again.
[[nodiscard]] Rounds forest_rounds(const shape::Tree &forest, int rank);
// Flat inside each node, k-nomial between the nodes' leaders (UPC PROP).
[[nodiscard]] Rounds prop_rounds(const Request &request);
// A tree's edges between groups of the level removed.
[[nodiscard]] shape::Tree cut_between(shape::Tree tree, const Request &request, topology::Level level);

// Where a rank's blocks are packed: from block 0 on, or from its own on, for schedules whose ranges wrap around.
enum class From : bool { zero, own };

// Inside a loop: brings all blocks to all outputs, in these rounds. Uses area `area`.
void allgather_in(plan::Builder &builder, const Request &request, int area, const Rounds &rounds, From from);

// Inside a loop: runs the rounds backwards, and combines every rank's input. This rank's block is stored in `result`. Uses
// area `area`. `home`, an output or a slot, is where partial results lie if neither line nor slot carries them. Rank order is
// not kept.
void reduce_scatter_in(plan::Builder &builder, const Request &request, int area,
                       const std::function<Rounds(int rank)> &rounds_of, From from, plan::Space home,
                       plan::Operand result);

// Inside a loop: combines tile i of the message, or block i, for rank i (movement-avoiding, socket-aware: Peng et al. 2023).
// In every socket by itself, the tile goes round the ranks, and each adds its input. A rank of a socket ends with the tiles
// of the ranks that have its position in their sockets. It gives them these tiles, to be combined in `result`. `home` as
// above. Uses areas 0 and 2. Rank order is not kept.
void reduce_scatter_sockets(plan::Builder &builder, const Request &request, plan::Space home, plan::Operand result);

// Of an alltoall: what `from` has for the ranks of a group, neighbours together.
[[nodiscard]] std::vector<plan::Range> pair_runs(const Request &request, int from, const Group &to);
// Blocks in a line, slot or scratch that come there as number `index`.
[[nodiscard]] plan::Operand placed(plan::Operand place, std::uint32_t index);

// Blocks that are given one in each round, to a rank of the round: they take turns in two places, and whoever has
// taken one says so, so that a line or slot holds but one block, whatever their number. Areas from `area` on: three.
class TwoPlaces {
 public:
  TwoPlaces(plan::Builder &builder, int area, int rounds);

  void give(int round, int reader, plan::Operand value);
  // Opens a block that is computed into its place. Without a line, that is a slot, whatever the carrier, so this tells the
  // builder: keep_in_slots.
  [[nodiscard]] plan::Operand open(int round, int reader, plan::Range block);
  void post(int round, int reader, plan::Operand value);
  [[nodiscard]] plan::Operand take(int round, int from, plan::Operand as, plan::Operand home);
  // Returns what `open` returns, as another rank names it.
  [[nodiscard]] static plan::Operand opened(plan::Range block) { return {plan::Space::slot, 0, -1, block}; }
  void taken(int round, int from, plan::Operand value);

 private:
  void await_turn(int round);
  [[nodiscard]] int area(int round) const { return area_ + round % 2; }

  plan::Builder &builder_;
  int area_;
  std::vector<int> waits_for_;  // by round: the rank that says when the block has been taken; -1: none
};

}  // namespace copse::algorithms
