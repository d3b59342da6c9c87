// Traffic: what an algorithm does, counted in its plans: how long its longest chain of signals is, how much it copies
// and reduces, and from which rank to which bytes go.
//
// Bytes are counted in messages; where a message is made of blocks, in blocks, all of one size. Data in a buffer, line
// or slot is at its owner's place; it goes from there to the rank that copies or reduces it, and on to the owner of
// where that rank writes it.
#pragma once

#include <string>
#include <vector>

#include "analysis/numbers.hpp"
#include "analysis/variants.hpp"

namespace copse::analysis {

// From one rank to another.
struct Flow {
  int from = 0, to = 0;
  double bytes = 0;
};

struct Traffic {
  int ranks = 0;
  int steps = 0;                   // on the longest chain of signals that ranks wait for; one fragment
  double copied = 0, reduced = 0;  // by all ranks; of a reduction, what it makes
  std::vector<Flow> moved;         // between every two ranks between which something moves
  Numbers pairs;                   // from * ranks + to: which of these it is

  void move(int from, int to, double bytes);
  [[nodiscard]] double from_to(int from, int to) const;
  // Between ranks that do not share an object of the level.
  [[nodiscard]] double across(const topology::Placement& places, topology::Level level) const;
};
// Of one call of one fragment. The variant must have its plans, and they must be right.
[[nodiscard]] Traffic traffic_of(const Variant& variant);

// The levels that divide the ranks, coarsest first; levels that divide them alike are one.
struct Division {
  topology::Level level{};
  std::string name;  // of all of them
};
[[nodiscard]] std::vector<Division> divisions(const topology::Placement& places);

}  // namespace copse::analysis
