// Blocks that are given one after the other.
#pragma once

#include <vector>

#include "algorithms/registry.hpp"

namespace copse::algorithms {

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
  [[nodiscard]] static plan::Operand opened(plan::Range block) { return plan::Builder::in_slot(block); }
  void taken(int round, int from, plan::Operand value);

 private:
  void await_turn(int round);
  [[nodiscard]] int area(int round) const { return area_ + round % 2; }

  plan::Builder& builder_;
  int area_;
  std::vector<int> waits_for_;  // by round: the rank that says when it has taken the block; -1: none
};

}  // namespace copse::algorithms
