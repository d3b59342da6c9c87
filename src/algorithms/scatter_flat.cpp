// scatter, flat: every rank gets its block from the root (KNEM IV.B; UPC REF). Under get, all ranks read their blocks at
// once, so the root is not the bottleneck. This is KNEM's scatter and REF's pull. Under put, the root alone pushes all
// blocks; this is for comparison. Line and slot are in between: the root packs the blocks of all ranks, and each rank takes
// its own.
// Cost: a + n b for every rank with get, as far as the root's memory goes; a + P n b with the others
// Wins: large blocks with get, on any number of ranks; few ranks with line
#include "algorithms/patterns/blocks.hpp"

namespace copse::algorithms {

plan::Plan scatter_flat(const Request& request) {
  plan::Builder builder = request.builder();
  builder.ends_on(0);
  builder.loop();
  scatter_down(builder, request.ranks_tree(shape::Form::flat), request.rank, 0);
  return builder.finish();
}

}  // namespace copse::algorithms
