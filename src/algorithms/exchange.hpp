// Collectives over blocks that go in rounds: who gives which blocks to whom is a schedule, and the same schedule, read
// backwards, that gathers blocks combines them.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "algorithms/patterns.hpp"

namespace copse::algorithms {

// Blocks that one rank has for another, as ranges of one block for each rank.
struct Parcel {
  int rank;
  std::vector<plan::Range> blocks;
};
// What one rank gives, and then takes, in a round.
struct Round {
  std::vector<Parcel> given, taken;
};
using Rounds = std::vector<Round>;

// The schedules of an allgather, of one rank: what it gives it has, by then, in the first round its own block.
// Blocks go round, each rank giving the next what it got last.
[[nodiscard]] Rounds ring_rounds(int ranks, int rank);
// The ranks are halved again and again; in the round of two halves each rank takes all that its image in the other has.
// Halves may differ by one rank: then one rank has two readers.
[[nodiscard]] Rounds doubling_rounds(int ranks, int rank);
// In round i, ranks have radix^i blocks, from their own on, and take those of the radix - 1 ranks that follow so far
// away (Bruck et al. 1997).
[[nodiscard]] Rounds bruck_rounds(int ranks, int rank, int radix);
// As Bruck's, but the number of blocks is half of the next round's, rounded up (Traeff 2024).
[[nodiscard]] Rounds circulant_rounds(int ranks, int rank);
// Neighbours exchange pairs of blocks, to the left and right in turn (Chen et al. 2005); an odd ring goes round.
[[nodiscard]] Rounds neighbor_rounds(int ranks, int rank);
// Partners at distances 1, 1, 3, 5, 11, ... to alternating sides (De Sensi et al. 2025). What exceeds a power of two
// has a neighbour that stands for both.
[[nodiscard]] Rounds bine_rounds(int ranks, int rank);
// Blocks go up the trees of a forest, from root to root, and all others' down again.
[[nodiscard]] Rounds forest_rounds(const shape::Tree &forest, int rank);
// Flat inside each node, k-nomial between the nodes' leaders (UPC PROP).
[[nodiscard]] Rounds prop_rounds(const Request &request);
// A tree's edges between groups of the level removed.
[[nodiscard]] shape::Tree cut_between(shape::Tree tree, const Request &request, topology::Level level);

// Where a rank's blocks are packed: from block 0 on, or from its own, for schedules whose ranges go round.
enum class From : bool { zero, own };

// Inside a loop: all blocks to all outputs, in these rounds. Area `area`.
void allgather_in(plan::Builder &builder, const Request &request, int area, const Rounds &rounds, From from);

// Inside a loop: backwards, every rank's input combined; mine is stored in `result`. Area `area`. `home` is where
// partial results lie where neither line nor slot carries them: output or slot. Not in rank order.
void reduce_scatter_in(plan::Builder &builder, const Request &request, int area,
                       const std::function<Rounds(int rank)> &rounds_of, From from, plan::Space home,
                       plan::Operand result);

// Inside a loop: tile i of the message, or block i, is combined for rank i in every socket by itself, going round its
// ranks, each of which adds its input (movement-avoiding, socket-aware: Peng et al. 2023). A socket's rank ends with
// the tiles of those ranks that have its position in their sockets, and gives them these, to be combined in `result`.
// `home` as above; areas 0 and 2. Not in rank order.
void reduce_scatter_sockets(plan::Builder &builder, const Request &request, plan::Space home, plan::Operand result);

// Of an alltoall: what `from` has for the ranks of a group, neighbours together.
[[nodiscard]] std::vector<plan::Range> pair_runs(const Request &request, int from, const Group &to);
// Blocks in a line, slot or scratch that come there as number `index`.
[[nodiscard]] plan::Operand placed(plan::Operand place, std::uint32_t index);

// Blocks that are given one in each round, to a rank of the round: they take turns in two places, and whoever has
// taken one says so, so that a line or slot holds but one block, whatever their number. Areas from `area` on: three.
class Turns {
 public:
  Turns(plan::Builder &builder, const Request &request, int area, int rounds);

  void give(int round, int reader, plan::Operand value);
  // Or computed into its place: a slot, whatever the carrier, if not a line. Says to the builder: keep_in_slots.
  [[nodiscard]] plan::Operand open(int round, int reader, plan::Range block);
  void post(int round, int reader, plan::Operand value);
  [[nodiscard]] plan::Operand take(int round, int from, plan::Operand as, plan::Operand home);
  // What open returns, as another rank names it.
  [[nodiscard]] static plan::Operand opened(plan::Range block) { return {plan::Space::slot, 0, -1, block}; }
  void taken(int round, int from, plan::Operand value);

 private:
  void await_turn(int round);
  [[nodiscard]] int area(int round) const { return area_ + round % 2; }

  plan::Builder &builder_;
  const Request &request_;
  int area_;
  std::vector<int> waits_for_;  // by round: who says when it has been taken; none: -1
};

}  // namespace copse::algorithms
