// broadcast, prop: flat inside the node, k-nomial between nodes (UPC 4.5, PROP, for its exchange; REF is flat, BCOL is knomial).
// Cost: ceil(log_k N) (k-1) (a + n b) over N nodes, then a + (r-1) n b for the r ranks of a node
// Wins: clusters of nodes with one memory each; on a single node it is flat
#include "algorithms/patterns/trees.hpp"

namespace copse::algorithms {

plan::Plan broadcast_prop(const Request& request) {
  plan::Builder builder = request.builder();
  builder.loop();
  send_down(builder, request.prop_tree(), request.rank, 0, plan::Builder::input());
  return builder.finish();
}

}  // namespace copse::algorithms
