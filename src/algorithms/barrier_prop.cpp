// barrier, prop: flat inside the node, k-nomial between nodes, up and down (UPC 4.5, PROP, for its exchange).
// Cost: 2 a inside a node, 2 ceil(log_k N) (k-1) a over N nodes
// Wins: clusters of small nodes with one memory each; on a single node it is central
#include "algorithms/patterns/signals.hpp"

namespace copse::algorithms {

plan::Plan barrier_prop(const Request& request) {
  plan::Builder builder = request.builder();
  const shape::SurveyedTree& tree = request.prop_tree();
  meet(builder, tree, tree, request.rank);
  return builder.finish();
}

}  // namespace copse::algorithms
