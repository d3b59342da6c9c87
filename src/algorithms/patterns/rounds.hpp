// The schedules of collectives over blocks, or over the tiles of a fragment, that go in rounds. A schedule says who gives which
// blocks to whom.
#pragma once

#include <vector>

#include "algorithms/registry.hpp"

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
// Blocks go flat inside each node, and along a k-nomial tree between the nodes' leaders (UPC PROP).
[[nodiscard]] Rounds prop_rounds(const Request& request);

}  // namespace copse::algorithms
