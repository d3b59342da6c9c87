// reduce_scatter, circulant graph: the allgather on a circulant graph, backwards. In every round a rank passes on about half
// of the blocks that it still holds (Traeff 2024).
// Cost: ceil(log2 P) a + (P-1) n (b + c).
// Wins: small blocks on many ranks, on numbers of ranks a little above a power of two.
#include "algorithms/patterns/exchange.hpp"

namespace copse::algorithms {

plan::Plan reduce_scatter_circulant(const Request& request) {
  plan::Builder builder = request.builder();
  builder.loop();
  reduce_scatter_in(
      builder, request, 0, [&](int rank) { return circulant_rounds(request.ranks, rank); }, From::own, plan::Space::slot,
      plan::Builder::output(request.block(request.rank)));
  builder.reclaim(request.others());
  return builder.finish();
}

}  // namespace copse::algorithms
