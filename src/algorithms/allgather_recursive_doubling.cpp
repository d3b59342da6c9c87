// allgather, recursive doubling: in each round, two groups of ranks exchange their blocks. Every rank of a group has all
// blocks of its group, and exchanges them with its image in the other group (Thakur et al. 2005). The groups come from
// halving the ranks, not from doubling, so no round is lost if the number of ranks is not a power of two. Halves may differ
// by one rank; then one rank has two readers.
// Cost: ceil(log2 P) a + (P-1) n b.
// Wins: small blocks on many ranks in rank order.
#include "algorithms/patterns/exchange.hpp"

namespace copse::algorithms {

plan::Plan allgather_recursive_doubling(const Request& request) {
  plan::Builder builder = request.builder();
  builder.loop();
  allgather_in(builder, request, 0, doubling_rounds(request.ranks, request.rank), From::zero);
  return builder.finish();
}

}  // namespace copse::algorithms
