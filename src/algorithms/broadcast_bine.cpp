// broadcast, bine: the message goes down a binomial negabinary tree (De Sensi et al. 2025, distance halving). The ranks form
// a ring. In every step, a rank sends to the other half of the ranks a third of the way round the ring, where a binomial tree
// goes half of the way. If the number of ranks is not a power of two, the halves are as even as possible.
// Cost: ceil(log2 P) (a + n b) as for a binomial tree; the sum of the distances between ranks is a third smaller
// Wins: a machine or network of unknown shape, where ranks with close numbers are close neighbours
#include "algorithms/patterns/trees.hpp"

namespace copse::algorithms {

plan::Plan broadcast_bine(const Request& request) {
  plan::Builder builder = request.builder();
  builder.loop();
  send_down(builder, request.ranks_tree(shape::Form::bine), request.rank, 0, plan::Builder::input());
  return builder.finish();
}

}  // namespace copse::algorithms
