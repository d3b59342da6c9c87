// neighbor_alltoall, one way: every rank gives as the root of a scatter does, one way (Copse). If its blocks are short, they ride
// together with its publication, and the rank waits for nobody who takes them. Longer ones are read where they lie, as in KNEM's
// scatter (KNEM IV.B). Nobody needs to know all lengths, so none are exchanged (docs/decisions/one-way.md). Over several nodes it
// is neighbor_alltoall, flat.
// Cost: a + d n b for short blocks to and from d neighbours; 2 a + d n b for long ones
// Wins: wherever all buffers can be reached
#include "algorithms/patterns/patterns.hpp"

namespace copse::algorithms {

plan::Plan neighbor_alltoall_one_way(const Request& request) {
  using plan::Builder;
  if (!request.shared->nodes().empty()) return find(Collective::neighbor_alltoall, "flat")->build(request);
  Builder builder = request.builder();
  const int rank = request.rank;
  builder.pack(static_cast<std::uint32_t>(request.ranks));
  const std::vector<int>& takers = request.graph->takers_of(rank);
  std::vector<plan::Range> given;
  for (const int taker : takers) given.push_back(request.pair(rank, taker));
  builder.ride(takers, given);
  const plan::Range own = request.pair(rank, rank);
  if (request.graph->has_edge(rank, rank)) builder.copy(Builder::output(own), Builder::input(own));
  for (const Graph::Giver& giver : request.givers())
    builder.take_ride(giver.rank, request.pair(giver.rank, rank), static_cast<std::uint32_t>(giver.number));
  return builder.finish();
}

}  // namespace copse::algorithms
