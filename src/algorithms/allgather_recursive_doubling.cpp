// allgather, recursive doubling: groups of ranks that have all of their blocks exchange them with another such group,
// each rank with its image there (Thakur et al. 2005). The ranks are halved for it, not doubled, so that no round is
// lost where their number is no power of two: halves may differ by one rank, of which one has two readers.
// Cost: ceil(log2 P) a + (P-1) n b.
// Wins: small blocks on many ranks in rank order.
#include "algorithms/exchange.hpp"

namespace copse::algorithms {

plan::Plan allgather_recursive_doubling(const Request &request) {
  plan::Builder builder = request.builder();
  builder.loop();
  allgather_in(builder, request, 0, doubling_rounds(request.ranks, request.rank), From::zero);
  return builder.finish();
}

}  // namespace copse::algorithms
