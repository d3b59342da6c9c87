// allgather, Bruck: in each round, every rank takes as many blocks as it already has from each of the radix - 1 ranks that
// follow at multiples of that number. The output holds each block where it belongs, so nothing is rotated at the end (Bruck
// et al. 1997).
// Cost: ceil(log_k P) (k-1) a + (P-1) n b.
// Wins: small blocks on many ranks; any number of ranks is as good as a power of two.
#include "algorithms/patterns/exchange.hpp"

namespace copse::algorithms {

plan::Plan allgather_bruck(const Request& request) {
  plan::Builder builder = request.builder();
  builder.loop();
  allgather_in(builder, request, 0, bruck_rounds(request.ranks, request.rank, request.radix), From::own);
  return builder.finish();
}

}  // namespace copse::algorithms
