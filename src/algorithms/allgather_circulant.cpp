// allgather, circulant graph: like bruck, but every round about doubles what a rank has. So the last round moves no more than
// what the rank had before it (Traeff 2024).
// Cost: ceil(log2 P) a + (P-1) n b.
// Wins: where bruck does, for numbers of ranks a little above a power of two.
#include "algorithms/patterns/exchange.hpp"

namespace copse::algorithms {

plan::Plan allgather_circulant(const Request& request) {
  plan::Builder builder = request.builder();
  builder.loop();
  allgather_in(builder, request, 0, circulant_rounds(request.ranks, request.rank), From::own);
  return builder.finish();
}

}  // namespace copse::algorithms
