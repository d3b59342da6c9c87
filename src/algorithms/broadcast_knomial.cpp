// broadcast, knomial: a k-nomial tree over the ranks in order, wherever they sit (UPC BCOL, binomial; NUMACol 3 for
// scatter and gather).
// Cost: ceil(log_k P) (k-1) (a + n b) without fragments: the longest way from the root, one child at a time
// Wins: messages up to some KiB if all ranks are equally near, or nothing is known about the machine
#include "algorithms/patterns/trees.hpp"

namespace copse::algorithms {

plan::Plan broadcast_knomial(const Request& request) {
  plan::Builder builder = request.builder();
  builder.loop();
  send_down(builder, request.ranks_tree(shape::Form::k_nomial), request.rank, 0, plan::Builder::input());
  return builder.finish();
}

}  // namespace copse::algorithms
