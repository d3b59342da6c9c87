// allgather, neighbour exchange: neighbours exchange pairs of blocks, to the left and to the right in turn. This takes half
// the rounds of a ring, and only neighbours talk to each other (Chen et al. 2005). If the number of ranks is odd, it is a
// ring.
// Cost: P/2 a + (P-1) n b.
// Wins: where ring does, for blocks of medium size.
#include "algorithms/patterns/exchange.hpp"

namespace copse::algorithms {

plan::Plan allgather_neighbor_exchange(const Request& request) {
  plan::Builder builder = request.builder();
  builder.loop();
  allgather_in(builder, request, 0, neighbor_rounds(request.ranks, request.rank), From::zero);
  return builder.finish();
}

}  // namespace copse::algorithms
