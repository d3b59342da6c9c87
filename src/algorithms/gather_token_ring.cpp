// gather, token_ring: a token goes round the ranks, and the rank that has it puts its block into the root's output. So the
// ranks do not all crowd the root's link at once (NUMACol 3.2). The paper has three conditions on which a rank passes the
// token on before a copy: the rank is near the root (here: in its NUMA region), the block is small, or no more than a
// threshold is left of it. The threshold is a fragment (COPSE_FRAGMENT): a rank holds the token while it copies all fragments
// of its block but the last. On a machine of one region, no rank is held up. Under get the root has the token all the time;
// that is pull_ring.
// Cost: (P-1) (a + (n-m) b) + m b for fragments of m bytes; without the token P-1 copies share one link
// Wins: very large blocks if one rank fills the link into the root's memory, and many slow it down
#include "algorithms/patterns/tokens.hpp"

namespace copse::algorithms {

plan::Plan gather_token_ring(const Request& request) {
  plan::Builder builder = request.builder();
  pass_tokens(builder, request, 1);
  return builder.finish();
}

}  // namespace copse::algorithms
