// reduce_scatter, Bine: the butterfly of the Bine allgather, backwards. The first rounds, which move most, send their data a
// third less far than in recursive halving (De Sensi et al. 2025).
// Cost: ceil(log2 P) a + (P-1) n (b + c); if P is not a power of two, 2 a and P n (b + c) more.
// Wins: between the nodes of a tapered network, with ranks in the order of nodes.
#include "algorithms/patterns/exchange.hpp"

namespace copse::algorithms {

plan::Plan reduce_scatter_bine(const Request& request) {
  plan::Builder builder = request.builder();
  builder.loop();
  reduce_scatter_in(
      builder, request, 0, [&](int rank) { return bine_rounds(request.ranks, rank); }, From::zero, plan::Space::slot,
      plan::Builder::output(request.block(request.rank)));
  builder.reclaim(request.others());
  return builder.finish();
}

}  // namespace copse::algorithms
