// scan, binomial: sums of blocks of 2^t ranks go up a binomial tree, and prefixes come down it (Sanders and Traeff 2006).
// This takes twice the rounds of recursive doubling, but far fewer messages.
// Cost: 2 ceil(log2 P) (a + n (b + c)); 2 P messages in all.
// Wins: messages of medium size on many ranks, where recursive doubling saturates the memory.
#include "algorithms/patterns/scans.hpp"

namespace copse::algorithms {

plan::Plan scan_binomial(const Request& request) {
  plan::Builder builder = request.builder();
  builder.loop();
  binomial_prefixes(builder, request, false);
  return builder.finish();
}

}  // namespace copse::algorithms
