// broadcast, node_chain: fragments go along a chain of nodes. Each node's leader passes them on and gives them to its node, down
// k-nomial trees to the NUMA region and flat inside it (KNEM V: a pipeline over the levels; Worsch et al. 2003 for the chain).
// Cost: (N - 2 + F) (a + n/F b) over N nodes, for F fragments, beside what a node takes for its own
// Wins: long messages on several nodes: each node's link carries the message once in and once out, at the same time
#include "algorithms/patterns/trees.hpp"

namespace copse::algorithms {

plan::Plan broadcast_node_chain(const Request& request) {
  plan::Builder builder = request.builder();
  builder.loop();
  send_down(builder, request.node_chain_tree(shape::Form::flat), request.rank, 0, plan::Builder::input());
  return builder.finish();
}

}  // namespace copse::algorithms
