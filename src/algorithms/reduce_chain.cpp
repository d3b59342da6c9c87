// reduce, chain: each rank adds its message to what comes from the next one, and passes it on (Worsch et al. 2003; Open MPI
// calls it pipeline). With the message in fragments, all ranks are at work at once. The chain begins behind the root and
// wraps around, so only root 0 gets rank order.
// Cost: (P - 2 + F) (a + n/F (b + c)) for F fragments
// Wins: very long messages over few ranks, where one reader at a time per memory is best
#include "algorithms/patterns/patterns.hpp"

namespace copse::algorithms {

plan::Plan reduce_chain(const Request &request) {
  plan::Builder builder = request.builder();
  builder.loop();
  combine_up(builder, request.ranks_tree(shape::Form::chain), request.rank, 0, request.root);
  return builder.finish();
}

}  // namespace copse::algorithms
