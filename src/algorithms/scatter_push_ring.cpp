// scatter, push_ring: the root keeps the token (NUMACol Table 1, the ring by push). It goes round the ranks after it, writes
// the whole block of one rank, tells that rank, and goes on to the next one. So a rank has its block, and may leave, before
// the root serves the next rank. In flat by put, the root writes a fragment of every block in turn, and all ranks wait until
// it has written the last fragment of all blocks.
// Cost: (P-1) (a + n b) at the root, and on average half of that for the other ranks
// Wins: against flat by put, for large blocks that ranks want to work on at once, and where one stream into one memory is
// faster than several in turn; against token_ring (by get), where a rank cannot read the root's memory
#include "algorithms/patterns/tokens.hpp"

namespace copse::algorithms {

plan::Plan scatter_push_ring(const Request& request) {
  plan::Builder builder = request.builder();
  go_round(builder, request);
  return builder.finish();
}

}  // namespace copse::algorithms
