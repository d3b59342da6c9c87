// scatter, token_rings: token_ring with k tokens (the radix), each in a ring of its own stretch of ranks, so that k
// ranks copy at a time: what NUMACol 3.2 leaves open, for links that one rank does not fill.
// Cost: (P-1)/k (a + (n-m) b) + m b for fragments of m bytes, as far as the link feeds k copies
// Wins: very large blocks where the link out of the root's memory takes a few ranks, but not all, to fill
#include "algorithms/patterns.hpp"

namespace copse::algorithms {

plan::Plan scatter_token_rings(const Request &request) {
  plan::Builder builder = request.builder();
  pass_tokens(builder, request, request.radix);
  return builder.finish();
}

}  // namespace copse::algorithms
