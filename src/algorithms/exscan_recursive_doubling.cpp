// exscan, recursive doubling: in round i every rank gives the rank 2^i ahead what it has of the 2^i ranks up to itself
// (Hillis and Steele 1986).
// Cost: ceil(log2 P) (a + n (b + 2 c)).
// Wins: short messages on many ranks with a processor each.
#include "algorithms/patterns/scans.hpp"

namespace copse::algorithms {

plan::Plan exscan_recursive_doubling(const Request& request) {
  plan::Builder builder = request.builder();
  builder.loop();
  doubling_prefixes(builder, request, true);
  return builder.finish();
}

}  // namespace copse::algorithms
