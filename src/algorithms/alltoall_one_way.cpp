// alltoall, one way: every rank gives as the root of a scatter does, one way (Copse). If its blocks for the ranks of its node are
// short, they ride together with its publication. Longer ones are read where they lie, as in KNEM's scatter (KNEM IV.B). A rank of
// another node gets a message, whose length both know. So this is the alltoallv over several nodes, which exchanges no sizes
// (docs/decisions/one-way.md).
// Cost: a + P n b for short blocks; 2 a + P n b for long ones
// Wins: blocks whose sizes not all ranks know, over several nodes
#include "algorithms/patterns/riding.hpp"

namespace copse::algorithms {

plan::Plan alltoall_one_way(const Request& request) {
  using plan::Builder;
  Builder builder = request.builder();
  const int rank = request.rank;
  builder.pack(static_cast<std::uint32_t>(request.ranks));
  // Every rank gives to the next one first.
  const auto takers_of = [&](int giver, int number) {
    std::vector<int> takers;
    for (int i = 1; i <= number; ++i) takers.push_back((giver + i) % request.ranks);
    return takers;
  };
  give_one_way(builder, takers_of(rank, request.ranks - 1), [&](int taker) { return request.pair(rank, taker); });
  const plan::Range own = request.pair(rank, rank);
  builder.copy(Builder::output(own), Builder::input(own));
  for (int distance = 1; distance < request.ranks; ++distance) {
    const int giver = (rank - distance + request.ranks) % request.ranks;
    take_one_way(builder, giver, request.pair(giver, rank), takers_of(giver, distance - 1));
  }
  return builder.finish();
}

}  // namespace copse::algorithms
