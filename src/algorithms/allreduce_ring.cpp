// allreduce, ring: tiles go round the ranks twice, first as partial results to which each rank adds its part, and then as
// finished tiles. Only neighbours talk to each other, and every rank moves and reduces the same amount (Patarasuk and Yuan,
// 2009). Through slots this is also the movement-avoiding reduction that does not know sockets (YHCCL: Peng et al., SC'23): a
// partial result is read from the cache and meets the input where it lies, so only the first tile that each rank gives is
// copied in.
// Cost: 2 (P-1) a + (P-1)/P n (2 b + c)
// Wins: long messages where far links are few and shared, and neighbours in rank order sit next to each other
#include "algorithms/patterns/exchange.hpp"

namespace copse::algorithms {

plan::Plan allreduce_ring(const Request& request) {
  using plan::Builder;
  Builder builder = request.builder();
  const int ranks = request.ranks, next = (request.rank + 1) % ranks;
  const plan::Operand mine = Builder::output(request.block(request.rank));
  builder.loop();
  const plan::Operand result = ranks == 1 ? mine : builder.open(1, std::vector{next}, mine);
  reduce_scatter_in(
      builder, request, 0, [&](int rank) { return ring_rounds(ranks, rank, -1); }, From::zero, plan::Space::output, result);
  allgather_in(builder, request, 1, ring_rounds(ranks, request.rank), From::zero, result);
  return builder.finish();
}

}  // namespace copse::algorithms
