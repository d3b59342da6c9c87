// allgather, flat: every rank takes every block from the rank that has it, beginning with the next rank's (as KNEM IV.C does in its
// alltoall). There is one round, whatever the number of ranks.
// Cost: a + (P-1) n b.
// Wins: on few ranks, on ranks that take turns on few processors, and for large blocks with get.
#include "algorithms/registry.hpp"

namespace copse::algorithms {

plan::Plan allgather_flat(const Request& request) {
  using plan::Builder;
  Builder builder = request.builder();
  const auto others = request.others();
  const plan::Range mine = request.block(request.rank);
  builder.ends_on(0);
  builder.loop();
  builder.give(0, others, Builder::input(mine));
  builder.copy(Builder::output(mine), Builder::input(mine));
  for (int other : others) {
    const plan::Range theirs = request.block(other);
    builder.bring(0, other, Builder::input(theirs), Builder::output(theirs));
  }
  builder.reclaim(others);
  return builder.finish();
}

}  // namespace copse::algorithms
