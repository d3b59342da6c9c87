// scatter, flat: every rank takes its block from the root (KNEM IV.B). Under get all ranks pull at once, so that the
// root is not the bottleneck; staged, the root packs the blocks of all, and each takes its own.
// Cost: a + n b for everybody with get; (P-1) n b at the root with slot and put.
// Wins: on few ranks, and with get for large blocks on any number.
#include "algorithms/patterns.hpp"

namespace copse::algorithms {

plan::Plan scatter_flat(const Request &request) {
  using plan::Builder;
  Builder builder = request.builder();
  const plan::Range mine = request.block(request.rank);
  builder.loop();
  if (request.rank == request.root) {
    share_blocks(builder, request, 0);
    builder.copy(Builder::output(mine), Builder::input(mine));
  } else {
    builder.copy(Builder::output(mine), builder.take_part(0, request.root, mine, Builder::output(mine)));
  }
  return builder.finish();
}

}  // namespace copse::algorithms
