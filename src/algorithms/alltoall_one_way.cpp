// alltoall, one way: every rank gives as the root of a scatter does, one way (Copse). If its blocks for the ranks of its node are
// short, they ride together with its publication. Longer ones are read where they lie, as in KNEM's scatter (KNEM IV.B). A rank of
// another node gets a message, which says how long it is. So this is the alltoallv over several nodes, which exchanges no sizes
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
  std::vector<int> others;  // every rank gives to the next one first
  for (int i = 1; i < request.ranks; ++i) others.push_back((rank + i) % request.ranks);
  give_one_way(builder, others, [&](int taker) { return request.pair(rank, taker); });
  const plan::Range own = request.pair(rank, rank);
  builder.copy(Builder::output(own), Builder::input(own));
  // A giver gives first to the ranks between it and this one. These are the last ones of `others`.
  for (int before = 0; before < request.ranks - 1; ++before) {
    const std::span takers = std::span(others).last(static_cast<std::size_t>(before));
    const int giver = others[others.size() - 1 - static_cast<std::size_t>(before)];
    if (builder.shares_memory_with(giver)) take_one_way(builder, giver, request.pair(giver, rank), takers);
    else builder.take_ride(giver, request.pair(giver, rank));
  }
  return builder.finish();
}

}  // namespace copse::algorithms
