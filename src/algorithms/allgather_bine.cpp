// allgather, Bine: a butterfly whose partners are at distances 1, 1, 3, 5, 11, ... on alternating sides. So the data of the
// last rounds travels a third less far than in recursive doubling (De Sensi et al. 2025). Each rank beyond a power of two
// first gives its block to a neighbour, and gets all blocks from it at the end.
// Cost: ceil(log2 P) a + (P-1) n b; if P is not a power of two, 2 a and P n b more.
// Wins: between the nodes of a tapered network, with ranks in the order of nodes.
#include "algorithms/patterns/exchange.hpp"

namespace copse::algorithms {

plan::Plan allgather_bine(const Request& request) {
  plan::Builder builder = request.builder();
  builder.loop();
  allgather_in(builder, request, 0, bine_rounds(request.ranks, request.rank), From::zero);
  return builder.finish();
}

}  // namespace copse::algorithms
