// reduce, rabenseifner: a reduce-scatter by recursive halving, and then a gather of the tiles up a binomial tree
// (Rabenseifner 2004; the reduce-scatter and gather of Thakur et al. 2005). Halves may differ by one rank, so no rank has to
// step aside if the number of ranks is not a power of two.
// Cost: 2 ceil(log2 P) a + (P-1)/P n (3 b + c)
// Wins: long messages between nodes, if every rank has a link of its own
#include "algorithms/patterns/exchange.hpp"

namespace copse::algorithms {

plan::Plan reduce_rabenseifner(const Request& request) {
  plan::Builder builder = request.builder();
  Request binomial = request;
  binomial.radix = 2;
  const shape::SurveyedTree& tree = binomial.ranks_tree(shape::Form::k_nomial);
  const bool is_root = request.rank == request.root;
  const plan::Range tile = request.block(request.rank);
  builder.loop();
  plan::Operand mine = plan::Builder::output(tile);
  if (!is_root)
    mine = builder.open(1, std::vector{tree.parent[static_cast<std::size_t>(request.rank)]}, plan::Builder::in_slot(tile));
  reduce_scatter_in(
      builder, request, 0, [&](int rank) { return doubling_rounds(request.ranks, rank); }, From::zero, plan::Space::slot, mine);
  gather_tiles_up(builder, tree, request.rank, 1, mine);
  builder.reclaim(request.others());
  return builder.finish();
}

}  // namespace copse::algorithms
