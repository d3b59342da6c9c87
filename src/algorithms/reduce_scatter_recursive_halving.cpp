// reduce_scatter, recursive halving: the ranks are halved again and again. In each round every rank gives its image in the
// other half the blocks of that half, combined so far (Thakur et al. 2005). Halves may differ by one rank; then one rank has
// two images there.
// Cost: ceil(log2 P) a + (P-1) n (b + c).
// Wins: small blocks on many ranks.
#include "algorithms/patterns/exchange.hpp"

namespace copse::algorithms {

plan::Plan reduce_scatter_recursive_halving(const Request& request) {
  plan::Builder builder = request.builder();
  builder.loop();
  reduce_scatter_in(
      builder, request, 0, [&](int rank) { return doubling_rounds(request.ranks, rank); }, From::zero, plan::Space::slot,
      plan::Builder::output(request.block(request.rank)));
  builder.reclaim(request.others());
  return builder.finish();
}

}  // namespace copse::algorithms
