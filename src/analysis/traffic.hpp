// Traffic: what an algorithm does, counted in its plans. It says how long the longest chain of signals is, how much is copied
// and reduced, and from which rank to which rank bytes go.
//
// Bytes are counted in messages or, if a message is made of blocks, in blocks of equal size. Data in a buffer, line or slot
// lies with its owner. It goes from there to the rank that copies or reduces it, and on to the owner of the memory that this
// rank writes.
#pragma once

#include <string>
#include <vector>

#include "analysis/numbers.hpp"
#include "analysis/variants.hpp"

namespace copse::analysis {

// Bytes that go from one rank to another.
struct Flow {
  int from = 0, to = 0;
  double bytes = 0;
};

struct Traffic {
  int ranks = 0;
  int steps = 0;                   // on the longest chain of signals that ranks wait for, with one fragment
  double copied = 0, reduced = 0;  // by all ranks; a reduction counts what it makes
  std::vector<Flow> moved;         // for every two ranks between which something moves
  Numbers pairs;                   // from * ranks + to: the index in `moved`

  void move(int from, int to, double bytes);
  // Returns the bytes between ranks that do not share an object of the level.
  [[nodiscard]] double across(const topology::Placement& places, topology::Level level) const;
};
// Returns the traffic of one call of one fragment. The variant must have its plans, and they must be right.
[[nodiscard]] Traffic traffic_of(const Variant& variant);

// The levels that divide the ranks, coarsest first. Levels that divide them in the same way are one division.
struct Division {
  topology::Level level{};
  std::string name;  // names all of these levels
};
[[nodiscard]] std::vector<Division> divisions(const topology::Placement& places);

}  // namespace copse::analysis
