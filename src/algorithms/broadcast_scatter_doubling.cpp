// broadcast, scatter_doubling: the root's message is scattered in tiles down a k-nomial tree, and then all ranks gather it in
// ceil(log2 P) rounds (van de Geijn; Thakur et al. 2005 for messages of medium length). A rank does not get again what it
// passed on in the scatter.
// Cost: 2 ceil(log2 P) a + 2 n b (P-1)/P for a power of two; otherwise a rank may serve two in a round
// Wins: messages of tens to hundreds of KiB on many equally near ranks: as many bytes as the ring, but few rounds
#include "algorithms/patterns/exchange.hpp"

namespace copse::algorithms {

plan::Plan broadcast_scatter_doubling(const Request& request) {
  using plan::Builder;
  Builder builder = request.builder();
  builder.loop();
  const shape::SurveyedTree& tree = request.ranks_tree(shape::Form::k_nomial);
  const Held held = scatter_tiles(builder, tree, request.rank, 0, Builder::input());
  const Rounds rounds = lacking(doubling_rounds(request.ranks, request.rank), request.rank, held);
  allgather_in(builder, request, 1, rounds, From::zero, Builder::output(held[static_cast<std::size_t>(request.rank)]));
  return builder.finish();
}

}  // namespace copse::algorithms
