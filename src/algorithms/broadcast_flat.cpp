// broadcast, flat: every rank takes the message from the root (KNEM IV.A; UPC REF, pulled by get and pushed by put).
// Cost: a + (P-1) n b, all of it in the root's memory: P-1 ranks read it at once (get), or the root alone writes (put)
// Wins: few ranks, or ranks that share a cache with the root; small messages anywhere, because there is a single round
#include "algorithms/patterns/trees.hpp"

namespace copse::algorithms {

plan::Plan broadcast_flat(const Request& request) {
  plan::Builder builder = request.builder();
  builder.ends_on(0);
  builder.loop();
  send_down(builder, request.ranks_tree(shape::Form::flat), request.rank, 0, plan::Builder::input());
  return builder.finish();
}

}  // namespace copse::algorithms
