// allgather, ring: every rank passes on to the next rank what it got from the previous one, beginning with its own block.
// Only neighbours talk to each other (Thakur et al. 2005).
// Cost: (P-1) (a + n b).
// Wins: large blocks where far links are few and neighbours in rank order sit next to each other.
#include "algorithms/patterns/exchange.hpp"

namespace copse::algorithms {

plan::Plan allgather_ring(const Request& request) {
  plan::Builder builder = request.builder();
  builder.loop();
  allgather_in(builder, request, 0, ring_rounds(request.ranks, request.rank), From::zero);
  return builder.finish();
}

}  // namespace copse::algorithms
