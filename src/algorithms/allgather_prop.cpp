// allgather, prop: flat inside each node, k-nomial between nodes (UPC 4.5, PROP, for its exchange). The ranks of a node
// take each other's blocks. Then the leader of each node sends the node's blocks down a k-nomial tree over all leaders, of
// which it is the root. All these trees together are the rounds of bruck. At the end, each leader gives its node the blocks
// of the other nodes. On a single node it is flat.
// Cost: a + (r-1) n b inside nodes of r ranks, ceil(log_k N) (k-1) a + (P-r) n b between N nodes, and a + (P-r) n b inside
// Wins: small blocks on many nodes: a node sends ceil(log_k N) (k-1) messages, where hierarchical sends N-1
#include "algorithms/patterns/exchange.hpp"

namespace copse::algorithms {

plan::Plan allgather_prop(const Request& request) {
  plan::Builder builder = request.builder();
  builder.loop();
  allgather_in(builder, request, 0, prop_rounds(request), From::zero);
  return builder.finish();
}

}  // namespace copse::algorithms
