// broadcast, scatter_ring: the root's message is scattered in tiles down a k-nomial tree, and then all ranks gather it round
// a ring (van de Geijn; Thakur et al. 2005 for long messages). A rank does not get again what it passed on in the scatter.
// Cost: (ceil(log2 P) + P - 1) a + 2 n b (P-1)/P: each byte leaves the root once, and every rank copies all the time
// Wins: long messages on many ranks that reach their neighbours best; no rank's memory is read by many ranks at once
#include "algorithms/patterns/exchange.hpp"

namespace copse::algorithms {

plan::Plan broadcast_scatter_ring(const Request& request) {
  using plan::Builder;
  Builder builder = request.builder();
  builder.loop();
  const shape::SurveyedTree& tree = request.ranks_tree(shape::Form::k_nomial);
  const Held held = scatter_tiles(builder, tree, request.rank, 0, Builder::input());
  const Rounds rounds = lacking(ring_rounds(request.ranks, request.rank), request.rank, held);
  allgather_in(builder, request, 1, rounds, From::zero, Builder::output(held[static_cast<std::size_t>(request.rank)]));
  return builder.finish();
}

}  // namespace copse::algorithms
