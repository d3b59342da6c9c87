// scatter, multi_lane: as many ranks of each node lead as the radix says. The leaders of the root's node take from the root what
// they send to those of the other nodes, each of which gives its team their blocks (Traeff and Hunold 2020). On one node it is
// flat.
// Cost: a + (P-Q) n b at the root, (N-1) (a + Q/L n b) over N nodes for L leaders on each node of Q ranks, and a + (Q/L-1) n b
// Wins: blocks of medium length on several nodes, where one rank does not fill the network
#include "algorithms/patterns/blocks.hpp"
#include "algorithms/patterns/columns.hpp"

namespace copse::algorithms {

plan::Plan scatter_multi_lane(const Request& request) {
  plan::Builder builder = request.builder();
  builder.loop();
  scatter_down(builder, column_tree(request), request.rank, 0);
  return builder.finish();
}

}  // namespace copse::algorithms
