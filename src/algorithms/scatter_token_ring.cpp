// scatter, token_ring: a token goes round the ranks, and who has it gets its block from the root's input, so that not
// all of them crowd the root's link (NUMACol 3.2). Its three conditions for passing the token on before a copy: the
// rank is near the root (here: in its NUMA region), the block is small, or no more than the threshold is left of it.
// The threshold is a fragment, COPSE_FRAGMENT: all but the last of a block are copied with the token in hand. On a
// machine of one region nobody is held up. Under put the root has the token all the time: that is push_ring.
// Cost: (P-1) (a + (n-m) b) + m b for fragments of m bytes; without the token P-1 copies share one link
// Wins: very large blocks if one rank fills the link out of the root's memory, and many slow it down
#include "algorithms/patterns/patterns.hpp"

namespace copse::algorithms {

plan::Plan scatter_token_ring(const Request &request) {
  plan::Builder builder = request.builder();
  pass_tokens(builder, request, 1);
  return builder.finish();
}

}  // namespace copse::algorithms
