// allgather, hierarchical: in each node, blocks go up a tree over the machine's levels. Then they go from node to node, and
// each branch of a tree gets the blocks that it lacks down the same tree (the trees of NUMACol 3).
// Cost: 2 D a + (P-1) n b at each of D levels of a node, and a + (P-1) n b between nodes.
// Wins: small blocks on several nodes, because each node hears from every other node only once.
#include "algorithms/patterns/exchange.hpp"
#include "algorithms/patterns/node_trees.hpp"

namespace copse::algorithms {

plan::Plan allgather_hierarchical(const Request& request) {
  plan::Builder builder = request.builder();
  const shape::Tree forest = cut_between(request.machine_tree(shape::Form::k_nomial), request, topology::Level::node);
  builder.loop();
  allgather_in(builder, request, 0, forest_rounds(forest, request.rank), From::zero);
  return builder.finish();
}

}  // namespace copse::algorithms
