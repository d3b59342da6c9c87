// neighbor_alltoall, one way: every rank gives as the root of a scatter does, one way (Copse). If its blocks are short, they ride
// together with its publication, and the rank waits for nobody who takes them. Longer ones are read where they lie, as in KNEM's
// scatter (KNEM IV.B). Nobody needs to know all lengths, so none are exchanged (docs/decisions/one-way.md). A neighbour on another
// node gets a message, which says how long it is.
// Cost: a + d n b for short blocks to and from d neighbours; 2 a + d n b for long ones
// Wins: wherever all buffers can be reached
#include "algorithms/patterns/riding.hpp"

namespace copse::algorithms {

plan::Plan neighbor_alltoall_one_way(const Request& request) {
  using plan::Builder;
  Builder builder = request.builder();
  const int rank = request.rank;
  builder.pack(static_cast<std::uint32_t>(request.ranks));
  give_one_way(builder, request.graph->takers_of(rank), [&](int taker) { return request.pair(rank, taker); });
  const plan::Range own = request.pair(rank, rank);
  if (request.graph->has_edge(rank, rank)) builder.copy(Builder::output(own), Builder::input(own));
  for (const Graph::Giver& giver : request.givers()) {
    const std::span takers = request.graph->takers_of(giver.rank);
    take_one_way(builder, giver.rank, request.pair(giver.rank, rank), takers.first(static_cast<std::size_t>(giver.number)));
  }
  return builder.finish();
}

}  // namespace copse::algorithms
