// gather, flat: the root gets every rank's block (KNEM IV.B; UPC REF). Under put, all ranks write their blocks into the
// root's output at once, so the root is not the bottleneck. This is KNEM's gather and REF's push. Under get, the root alone
// pulls all blocks; this is for comparison. Line and slot are in between: the ranks fill them, and the root empties them.
// Cost: 2 a + n b for every rank with put, as far as the root's memory goes; a + (P-1) n b at the root with the others
// Wins: large blocks with put, on any number of ranks; few ranks with line
#include "algorithms/patterns/blocks.hpp"

namespace copse::algorithms {

plan::Plan gather_flat(const Request& request) {
  plan::Builder builder = request.builder();
  builder.ends_on(0);
  builder.loop();
  gather_up(builder, request.ranks_tree(shape::Form::flat), request.rank, 0);
  return builder.finish();
}

}  // namespace copse::algorithms
