// barrier, dissemination: after round i every rank knows of the k^(i+1) ranks before it, whatever their number
// (Hensgen, Finkel and Manber 1988; HMPI 2.3); with a radix above 2 in fewer rounds of more signals (Hoefler et al.
// 2006).
// Cost: ceil(log_k P) a, each round with k-1 lines to read
// Wins: ranks that share a cache and have a processor each: half the rounds of a tree up and down
#include "algorithms/patterns.hpp"

namespace copse::algorithms {

plan::Plan barrier_dissemination(const Request &request) {
  plan::Builder builder = request.builder();
  disseminate(builder, Teams::singles(request.shared->everybody()), request.rank, request.radix, 0);
  return builder.finish();
}

}  // namespace copse::algorithms
