// gather, multi_lane: as many ranks of each node lead as the radix says. Each leader takes the blocks of its team, and sends them
// to a leader on the root's node, from which the root takes them (Traeff and Hunold 2020). On one node it is flat.
// Cost: a + (Q/L-1) n b for L leaders on each node of Q ranks, (N-1) (a + Q/L n b) over N nodes, and a + (P-Q) n b at the root
// Wins: blocks of medium length on several nodes, where one rank does not fill the network
#include "algorithms/patterns/blocks.hpp"
#include "algorithms/patterns/columns.hpp"

namespace copse::algorithms {

plan::Plan gather_multi_lane(const Request& request) {
  plan::Builder builder = request.builder();
  builder.loop();
  builder.pack(static_cast<std::uint32_t>(request.ranks));
  gather_up(builder, column_tree(request), request.rank, 0);
  return builder.finish();
}

}  // namespace copse::algorithms
