// gather, fixed: one hierarchical tree for every root, which is the tree to rank 0 (NUMACol 3, persistent fixed trees). If
// the root is another rank, it serves its own branch itself, and gets all other blocks in one copy from rank 0, through the
// buffer there.
// Cost: that of hierarchical, and a + P n b for the way from the tree's root to another root
// Wins: small blocks and roots that change from call to call on very many ranks: one tree costs less than a tree per root
#include "algorithms/patterns/blocks.hpp"

namespace copse::algorithms {

plan::Plan gather_fixed(const Request& request) {
  plan::Builder builder = request.builder();
  builder.loop();
  builder.pack(static_cast<std::uint32_t>(request.ranks));
  gather_up(builder, request.fixed_tree(), request.rank, 0);
  return builder.finish();
}

}  // namespace copse::algorithms
