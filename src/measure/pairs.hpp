// What two processors pay to reach each other's caches, and what several pairs of them pay at the same time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "topology/machine.hpp"

namespace copse::measure {

struct Pair {
  unsigned first = 0, second = 0;  // the operating system's numbers
};

// Pairs of processors whose innermost common part of the machine is one of this level, and whose regions are so far apart.
struct Neighbourhood {
  topology::Level level{};
  std::uint64_t distance = 0;  // 0: the nearest of this level
  std::vector<Pair> pairs;     // disjoint ones, of one part of the machine or over one link; the first is measured alone
};

// Returns the levels between these processors, from the innermost to the outermost, and within a level from near to far.
[[nodiscard]] std::vector<Neighbourhood> neighbourhoods(const topology::Machine& machine, const topology::CpuSet& usable);

// Returns the time from one rank's store of a word until the other sees it: half of a word there and another one back.
[[nodiscard]] double flag_ns(Pair pair);
// Returns the time of reading a line that the other has written.
[[nodiscard]] double line_ns(Pair pair);

// Rates in bytes per ns.
struct Rates {
  double read = 0;   // of what the other has written
  double write = 0;  // of stores into lines that the other has read
};
[[nodiscard]] Rates rates(Pair pair);
// All pairs read at the same time what the other one has written; `both_ways`: both of each pair do so. Returns the sum of the
// rates.
[[nodiscard]] double rate_together(std::span<const Pair> pairs, bool both_ways);

}  // namespace copse::measure
