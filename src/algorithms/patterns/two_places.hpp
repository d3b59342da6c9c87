// The blocks of an alltoall, which are given one after the other.
#pragma once

#include <vector>

#include "algorithms/registry.hpp"

namespace copse::algorithms {

// Returns the blocks that `from` has, in an alltoall, for the ranks of a group, as runs of neighbours.
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
