// barrier, flat: one round, in which every rank signals every other.
// Cost: a + P-1 loads of a line by every rank
// Wins: up to four ranks that share a cache; barriers one after the other with more ranks than processors, where every rank
// gets one turn and finds that all others have arrived
#include "algorithms/registry.hpp"

namespace copse::algorithms {

plan::Plan barrier_flat(const Request& request) {
  plan::Builder builder = request.builder();
  const auto others = request.others();
  builder.signal(0, others);
  for (int other : others) builder.await_signal(0, other);
  return builder.finish();
}

}  // namespace copse::algorithms
