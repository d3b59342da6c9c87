// allgather, multi_lane: as many ranks of each node lead as the radix says. Each leader takes the blocks of its team. The leaders
// of a column, one on each node, exchange what they have by recursive doubling. All ranks of a node take what they lack from
// its leaders (Traeff and Hunold 2020; Kandalla et al. 2009).
// Cost: 2 a + P n b inside a node, and ceil(log2 N) a + (N-1) Q/L n b for L leaders on each of N nodes of Q ranks
// Wins: several nodes of many ranks: each block comes to a node once, and several ranks of it send and receive
#include "algorithms/patterns/columns.hpp"
#include "algorithms/patterns/exchange.hpp"

namespace copse::algorithms {

plan::Plan allgather_multi_lane(const Request& request) {
  plan::Builder builder = request.builder();
  builder.loop();
  allgather_in(builder, request, 0, column_rounds(request, request.rank), From::zero);
  return builder.finish();
}

}  // namespace copse::algorithms
