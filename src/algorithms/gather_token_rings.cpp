// gather, token_rings: token_ring with k tokens (the radix). Each token goes round its own run of ranks, so k ranks copy at
// the same time. NUMACol 3.2 proposes several tokens for very small messages of many threads, and leaves that open. Here they are
// for links that one rank does not fill.
// Cost: (P-1)/k (a + (n-m) b) + m b for fragments of m bytes, as far as the link feeds k copies
// Wins: very large blocks if it takes several ranks, but not all, to fill the link into the root's memory
#include "algorithms/patterns/tokens.hpp"

namespace copse::algorithms {

plan::Plan gather_token_rings(const Request& request) {
  plan::Builder builder = request.builder();
  pass_tokens(builder, request, request.radix);
  return builder.finish();
}

}  // namespace copse::algorithms
