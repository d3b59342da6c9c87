// allreduce, recursive doubling: in each round, partners exchange what they have, and both combine it, lower ranks first. If
// the number of ranks is not a power of two, neighbours pair up first, and the odd rank of each pair gets the result at the
// end (Thakur et al. 2005). So every partial result stands for an interval of ranks, and rank order is kept.
// Cost: ceil(log2 P) (a + n (b + c)), and 2 (a + n b) + n c more if P is not a power of two
// Wins: short messages of many ranks that all sit equally near
#include "algorithms/patterns/doubling.hpp"

namespace copse::algorithms {

plan::Plan allreduce_recursive_doubling(const Request& request) {
  plan::Builder builder = request.builder();
  builder.loop();
  settle(builder, plan::Builder::output(),
         double_up(builder, Teams::singles(request.shared->everybody()), request.rank, 0, {plan::Builder::input()}));
  return builder.finish();
}

}  // namespace copse::algorithms
