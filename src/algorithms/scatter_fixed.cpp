// scatter, fixed: one hierarchical tree for every root, which is the tree to rank 0 (NUMACol 3, persistent fixed trees). If
// the root is another rank, it serves its own branch itself, and all other blocks go to rank 0 in one copy, through the
// buffer there.
// Cost: that of hierarchical, and a + P n b for the way to the tree's root from another root
// Wins: small blocks and roots that change from call to call on very many ranks: one tree costs less than a tree per root
#include "algorithms/patterns/blocks.hpp"

namespace copse::algorithms {

plan::Plan scatter_fixed(const Request& request) {
  plan::Builder builder = request.builder();
  builder.loop();
  scatter_down(builder, request.fixed_tree(), request.rank, 0);
  return builder.finish();
}

}  // namespace copse::algorithms
