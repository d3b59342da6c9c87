// exscan, flat: every rank takes the messages of all ranks before it and combines them. There is one round, and the last rank
// does most of the work.
// Cost: a + (P-1) n (b + c) at the last rank.
// Wins: short messages on few ranks, and on ranks that take turns on few processors.
#include "algorithms/patterns/scans.hpp"

namespace copse::algorithms {

plan::Plan exscan_flat(const Request& request) {
  plan::Builder builder = request.builder();
  builder.loop();
  flat_prefixes(builder, request, true);
  return builder.finish();
}

}  // namespace copse::algorithms
