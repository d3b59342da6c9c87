// barrier, dissemination: after round i, every rank knows that the k^(i+1) - 1 ranks before it have arrived, whatever the
// number of ranks (Hensgen, Finkel and Manber 1988; HMPI 2.3). A radix above 2 takes fewer rounds of more signals (Hoefler et
// al. 2006).
// Cost: ceil(log_k P) a, each round with k-1 lines to read
// Wins: ranks that share a cache and have a processor each: half the rounds of going up and down a tree
#include "algorithms/patterns/signals.hpp"

namespace copse::algorithms {

plan::Plan barrier_dissemination(const Request& request) {
  plan::Builder builder = request.builder();
  disseminate(builder, Teams::singles(request.shared->everybody()), request.rank, request.radix, 0);
  return builder.finish();
}

}  // namespace copse::algorithms
