// scatter, flat: every rank gets its block from the root (KNEM IV.B; UPC REF). Under get, all ranks read their blocks at
// once, so that the root is not the bottleneck: this is KNEM's scatter and REF's pull. Under put, the root alone pushes them
// all, which is the contrast. Line and slot are in between: the root packs the blocks of all, and each rank takes its own.
// Cost: a + n b for every rank with get, as far as the root's memory goes; a + P n b with the others
// Wins: with get for large blocks on any number of ranks, with line on few
#include "algorithms/patterns/patterns.hpp"

namespace copse::algorithms {

plan::Plan scatter_flat(const Request &request) {
  plan::Builder builder = request.builder();
  builder.loop();
  scatter_down(builder, request.ranks_tree(shape::Form::flat), request.rank, 0);
  return builder.finish();
}

}  // namespace copse::algorithms
