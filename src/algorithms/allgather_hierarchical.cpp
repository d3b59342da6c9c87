// allgather, hierarchical: blocks go up a tree over the machine's levels in each node, then from node to node, and the blocks
// of the others come down the tree again (the trees of NUMACol 3).
// Cost: 2 D a + (P-1) n b at each of D levels of a node, and a + (P-1) n b between nodes.
// Wins: small blocks on several nodes: each node hears from every other once.
#include "algorithms/patterns/exchange.hpp"

namespace copse::algorithms {

plan::Plan allgather_hierarchical(const Request &request) {
  plan::Builder builder = request.builder();
  const shape::Tree forest =
      cut_between(request.machine_tree(shape::Form::k_nomial), request, topology::Level::node);
  builder.loop();
  allgather_in(builder, request, 0, forest_rounds(forest, request.rank), From::zero);
  return builder.finish();
}

}  // namespace copse::algorithms
