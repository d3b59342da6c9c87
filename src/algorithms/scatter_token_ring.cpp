// scatter, token_ring: a token goes round the ranks. The rank that has it gets its block from the root's input, so that not
// all ranks crowd the root's link (NUMACol 3.2). NUMACol has three conditions for passing the token on before a copy: the
// rank is near the root (here: in its NUMA region), the block is small, or no more than the threshold is left of it. Here the
// threshold is a fragment, COPSE_FRAGMENT: all but the last fragment of a block are copied with the token in hand. On a
// machine of one region nobody is held up. Under put the root would copy all blocks and has no use for a token: that is flat
// by put.
// Cost: (P-1) (a + (n-m) b) + m b for fragments of m bytes; without the token P-1 copies share one link
// Wins: very large blocks if one rank fills the link out of the root's memory, and many slow it down
#include "algorithms/patterns.hpp"

namespace copse::algorithms {

plan::Plan scatter_token_ring(const Request &request) {
  plan::Builder builder = request.builder();
  pass_tokens(builder, request, 1);
  return builder.finish();
}

}  // namespace copse::algorithms
