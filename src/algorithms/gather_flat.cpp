// gather, flat: the root takes every rank's block (KNEM IV.B). Pulled by the root alone under get; under put every rank
// pushes its own block, and all processors copy: the direction for large blocks.
// Cost: (P-1) (a + n b) with get and slot at the root; a + n b for everybody with put.
// Wins: on few ranks, and with put for large blocks on any number that the memory feeds.
#include "algorithms/registry.hpp"

namespace copse::algorithms {

plan::Plan gather_flat(const Request &request) {
  using plan::Builder;
  Builder builder = request.builder();
  const plan::Range mine = request.block(request.rank);
  builder.loop();
  if (request.rank == request.root) {
    builder.copy(Builder::output(mine), Builder::input(mine));
    for (int other : request.others()) {
      const plan::Range theirs = request.block(other);
      builder.copy(Builder::output(theirs),
                   builder.take(0, other, Builder::input(theirs), Builder::output(theirs)));
    }
  } else {
    const int readers[] = {request.root};
    builder.give(0, readers, Builder::input(mine));
    builder.reclaim(readers);
  }
  return builder.finish();
}

}  // namespace copse::algorithms
