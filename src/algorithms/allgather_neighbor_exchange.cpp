// allgather, neighbour exchange: pairs of blocks go between neighbours, to the left and to the right in turn: half the
// rounds of a ring, and both neighbours alone (Chen et al. 2005). For an even number of ranks; an odd one is a ring.
// Cost: P/2 a + (P-1) n b.
// Wins: where a ring does, for blocks of middle size.
#include "algorithms/exchange.hpp"

namespace copse::algorithms {

plan::Plan allgather_neighbor_exchange(const Request &request) {
  plan::Builder builder = request.builder();
  builder.loop();
  allgather_in(builder, request, 0, neighbor_rounds(request.ranks, request.rank), From::zero);
  return builder.finish();
}

}  // namespace copse::algorithms
