// gather, prop: flat inside each node, k-nomial between nodes (UPC 4.5, PROP, for its exchange). So the blocks of a node cross the
// wire together. On a single node it is flat.
// Cost: ceil(log_k N) (k-1) a + (P-r) n b over N nodes of r ranks, and a + (r-1) n b inside them
// Wins: clusters of nodes with one memory each, and blocks too small to fill the network one by one
#include "algorithms/patterns/blocks.hpp"

namespace copse::algorithms {

plan::Plan gather_prop(const Request& request) {
  plan::Builder builder = request.builder();
  builder.loop();
  builder.pack(static_cast<std::uint32_t>(request.ranks));
  gather_up(builder, request.prop_tree(), request.rank, 0);
  return builder.finish();
}

}  // namespace copse::algorithms
