// broadcast, fixed: one tree for every root (NUMACol 3, persistent fixed trees). The root gives the message to rank 0, the
// tree's root, and serves its own branch itself, so nothing is sent back to it.
// Cost: that of hierarchical, and a + n b for the way to the tree's root if that is another rank
// Wins: roots that change from call to call on very many ranks: one tree costs less than a tree for each
#include "algorithms/patterns/trees.hpp"

namespace copse::algorithms {

plan::Plan broadcast_fixed(const Request& request) {
  plan::Builder builder = request.builder();
  builder.loop();
  send_down(builder, request.fixed_tree(), request.rank, 0, plan::Builder::input());
  return builder.finish();
}

}  // namespace copse::algorithms
