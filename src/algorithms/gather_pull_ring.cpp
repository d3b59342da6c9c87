// gather, pull_ring: the root keeps the token (NUMACol Table 1, the ring by pull). It goes round the ranks after it, reads
// the whole block of one rank, tells that rank, and goes on to the next one. So a rank may leave as soon as its own block has
// been read. In flat by get, the root takes a fragment of every block in turn, and all ranks wait until it has the last
// fragment of all blocks.
// Cost: (P-1) (a + n b) at the root, and on average half of that for the other ranks
// Wins: against flat by get, for large blocks of ranks that have other work, and where one stream from one memory is faster
// than several in turn; against token_ring (by put), where a rank cannot write into the root's memory
#include "algorithms/patterns/tokens.hpp"

namespace copse::algorithms {

plan::Plan gather_pull_ring(const Request& request) {
  plan::Builder builder = request.builder();
  go_round(builder, request);
  return builder.finish();
}

}  // namespace copse::algorithms
