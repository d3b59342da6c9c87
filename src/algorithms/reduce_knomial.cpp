// reduce, knomial: messages are combined up a k-nomial tree over the ranks in order, wherever they sit, and rank order is
// kept (UPC BCOL). HMPI's n-ary tree (HMPI 2.2), in which an inner node is the first of its leaves, is this tree with k = n.
// Cost: ceil(log_k P) (k-1) (a + n (b + c))
// Wins: short messages, especially with an operator that does not commute
#include "algorithms/patterns/trees.hpp"

namespace copse::algorithms {

plan::Plan reduce_knomial(const Request& request) {
  plan::Builder builder = request.builder();
  builder.loop();
  combine_up(builder, request.ranks_tree(shape::Form::k_nomial), request.rank, 0, request.root);
  return builder.finish();
}

}  // namespace copse::algorithms
