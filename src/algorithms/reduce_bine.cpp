// reduce, bine: messages are combined up a binomial negabinary tree (De Sensi et al. 2025, distance halving). The ranks form
// a ring, and the halves of the ranks meet a third of the way round it, where a binomial tree goes half of the way. Subtrees
// wrap around the ring, so rank order is not kept.
// Cost: ceil(log2 P) (a + n (b + c)) as for a binomial tree; the sum of the distances between ranks is a third smaller
// Wins: a machine or network of unknown shape, where ranks with close numbers are close neighbours
#include "algorithms/patterns/trees.hpp"

namespace copse::algorithms {

plan::Plan reduce_bine(const Request& request) {
  plan::Builder builder = request.builder();
  builder.loop();
  combine_up(builder, request.ranks_tree(shape::Form::bine), request.rank, 0, request.root);
  return builder.finish();
}

}  // namespace copse::algorithms
