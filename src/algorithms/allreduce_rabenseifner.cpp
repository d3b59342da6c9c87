// allreduce, rabenseifner: a reduce-scatter by recursive halving, then an allgather by recursive doubling (Rabenseifner
// 2004). Halves may differ by one rank, so no rank has to step aside if the number of ranks is not a power of two. Partners
// with distant ranks meet first, while the parts are large. To keep the order of the ranks, the tiles would have to be
// scattered.
// Cost: 2 ceil(log2 P) a + (P-1)/P n (2 b + c); if P is not a power of two, some ranks serve two others in a round
// Wins: long messages of many equally near ranks, above all between nodes: the bytes of a ring in few rounds
#include "algorithms/patterns/patterns.hpp"

namespace copse::algorithms {

plan::Plan allreduce_rabenseifner(const Request& request) {
  using plan::Builder;
  Builder builder = request.builder();
  Held held;
  for (int rank = 0; rank < request.ranks; ++rank) held.push_back(request.block(rank));
  builder.loop();
  reduce_scatter_tiles_halving(builder, request, 0, plan::Space::output, Builder::output(request.block(request.rank)));
  allgather_tiles_doubling(builder, request, 1, held);
  builder.reclaim(request.others());
  return builder.finish();
}

}  // namespace copse::algorithms
