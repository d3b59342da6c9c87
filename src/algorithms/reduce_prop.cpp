// reduce, prop: flat inside the node, k-nomial between nodes (UPC 4.5, PROP, for its exchange).
// Cost: a + (r-1) n (b + c) for the r ranks of a node, then ceil(log_k N) (k-1) (a + n (b + c)) over N nodes
// Wins: clusters of small nodes with one memory each; on a single node it is flat
#include "algorithms/patterns/trees.hpp"

namespace copse::algorithms {

plan::Plan reduce_prop(const Request& request) {
  plan::Builder builder = request.builder();
  builder.loop();
  combine_up(builder, request.prop_tree(), request.rank, 0, request.root);
  return builder.finish();
}

}  // namespace copse::algorithms
