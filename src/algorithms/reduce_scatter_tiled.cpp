// reduce_scatter, tiled: every rank combines its own block out of all inputs (HMPI 2.4, the first half of the tiled
// allreduce).
// Cost: a + (P-1) n (b + c), n being a block.
// Wins: on one node, except for very small blocks on very many ranks.
#include "algorithms/patterns/tiles.hpp"

namespace copse::algorithms {

plan::Plan reduce_scatter_tiled(const Request& request) {
  using plan::Builder;
  Builder builder = request.builder();
  builder.loop();
  const auto items = share_tiles(builder, request, 0, 0);
  fold(builder, Builder::output(request.block(request.rank)), items, 0);
  builder.reclaim_input(request.others());
  return builder.finish();
}

}  // namespace copse::algorithms
