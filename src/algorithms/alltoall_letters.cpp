// alltoall, letters: every rank writes one letter to all other ranks (Copse). A letter is the publication of the lengths of a
// rank's blocks, together with the blocks, which ride with it. Every rank takes its own block from each letter. If the blocks
// of some rank are too long for a letter, nothing is moved, and all ranks know this as soon as they have read all letters. So
// this is the alltoallv of short blocks if no rank knows all sizes (docs/decisions/one-way.md). Over several nodes it is
// alltoall, flat.
// Cost: a + P n b, and one copy more than by get
// Wins: short blocks whose sizes not all ranks know
#include <algorithm>

#include "algorithms/registry.hpp"

namespace copse::algorithms {

plan::Plan alltoall_letters(const Request& request) {
  using plan::Builder;
  Builder builder = request.builder();
  const std::vector<int> others = request.others();
  // Letters need another rank to write to, and must reach all ranks.
  if (others.empty() || !std::all_of(others.begin(), others.end(), [&](int other) { return builder.shares_memory_with(other); }))
    return find(Collective::alltoall, "flat")->build(request);
  const int rank = request.rank, ranks = request.ranks;
  builder.pack(static_cast<std::uint32_t>(ranks));
  // The block for the next rank comes first, in agreement with the numbers by which blocks are taken below.
  std::vector<plan::Range> given;
  const auto give = [&](int first, int end) {
    plan::Range part = request.pair(rank, first % ranks);
    part.count = static_cast<std::uint32_t>(end - first);
    if (end > first) given.push_back(part);
  };
  give(rank + 1, ranks);
  give(0, rank);
  builder.ride(others, given);
  const plan::Range own = request.pair(rank, rank);
  builder.copy_if_all_ride(Builder::output(own), Builder::input(own));
  for (const int other : others)
    builder.take_ride(other, request.pair(other, rank), static_cast<std::uint32_t>((rank - other - 1 + ranks) % ranks));
  return builder.finish();
}

}  // namespace copse::algorithms
