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
  std::uint64_t distance = 0;  // 0: the nearest regions of this level
  // No two pairs share a processor. All pairs sit in one part of the machine, or use one link. The first pair is measured alone.
  std::vector<Pair> pairs;
};

// Returns the levels between these processors, from the innermost to the outermost, and within a level from near to far.
[[nodiscard]] std::vector<Neighbourhood> neighbourhoods(const topology::Machine& machine, const topology::CpuSet& usable);

// Returns the time from one rank's store of a word until the other rank sees the word. It is half of the time of a word there and
// back.
[[nodiscard]] double flag_ns(Pair pair);
// Returns the time of reading a line that the other processor has written.
[[nodiscard]] double line_ns(Pair pair);

// Rates in bytes per ns.
struct Rates {
  double read = 0;   // of reading what the other processor has written
  double write = 0;  // of stores into lines that the other processor has read
};
[[nodiscard]] Rates rates(Pair pair);
// Lets one processor of each pair read what the other has written, in all pairs at the same time. With `both_ways`, both
// processors of each pair read. Returns the sum of the rates.
[[nodiscard]] double rate_together(std::span<const Pair> pairs, bool both_ways);

}  // namespace copse::measure
