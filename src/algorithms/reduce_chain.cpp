// reduce, chain: each rank combines its message with what comes from the next rank, and passes the result on (Worsch et al.
// 2003; Open MPI calls it pipeline). If the message is cut into fragments, all ranks work at the same time. The chain begins
// behind the root and wraps around, so rank order is kept only if the root is the first or the last rank.
// Cost: (P - 2 + F) (a + n/F (b + c)) for F fragments
// Wins: very long messages on few ranks, where one reader at a time per memory is best
#include "algorithms/patterns/trees.hpp"

namespace copse::algorithms {

plan::Plan reduce_chain(const Request& request) {
  plan::Builder builder = request.builder();
  builder.loop();
  combine_up(builder, request.ranks_tree(shape::Form::chain), request.rank, 0, request.root);
  return builder.finish();
}

}  // namespace copse::algorithms
