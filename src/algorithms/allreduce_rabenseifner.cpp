// allreduce, rabenseifner: a reduce-scatter by recursive halving, then an allgather by recursive doubling (Rabenseifner
// 2004). Halves may differ by one rank, so no rank has to step aside if the number of ranks is not a power of two. Partners
// with distant ranks meet first, while the parts are large. To keep the order of the ranks, the tiles would have to be
// scattered.
// Cost: 2 ceil(log2 P) a + (P-1)/P n (2 b + c); if P is not a power of two, some ranks serve two others in a round
// Wins: long messages of many equally near ranks, above all between nodes: the bytes of a ring in few rounds
#include "algorithms/patterns/exchange.hpp"

namespace copse::algorithms {

plan::Plan allreduce_rabenseifner(const Request& request) {
  using plan::Builder;
  Builder builder = request.builder();
  const plan::Operand mine = Builder::output(request.block(request.rank));
  builder.loop();
  reduce_scatter_in(
      builder, request, 0, [&](int rank) { return doubling_rounds(request.ranks, rank); }, From::zero, plan::Space::output, mine);
  allgather_in(builder, request, 1, doubling_rounds(request.ranks, request.rank), From::zero, mine);
  builder.reclaim(request.others());
  return builder.finish();
}

}  // namespace copse::algorithms
