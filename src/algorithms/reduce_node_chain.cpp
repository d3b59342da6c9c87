// reduce, node_chain: each node combines its messages, and adds what comes from the next node in a chain. The chain ends at the
// root (KNEM V: a pipeline over the levels; Worsch et al. 2003 for the chain).
// Cost: (N - 2 + F) (a + n/F (b + c)) over N nodes, for F fragments, beside what a node takes for its own
// Wins: long messages on several nodes: each node's link carries one message in and one out, at the same time
#include "algorithms/patterns/trees.hpp"

namespace copse::algorithms {

plan::Plan reduce_node_chain(const Request& request) {
  plan::Builder builder = request.builder();
  builder.loop();
  combine_up(builder, request.node_chain_tree(shape::Form::k_nomial), request.rank, 0, request.root);
  return builder.finish();
}

}  // namespace copse::algorithms
