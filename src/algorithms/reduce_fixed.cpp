// reduce, fixed: messages are combined up one tree to rank 0 for every root, and the result is copied to the root (NUMACol
// 3).
// Cost: that of hierarchical, and a + n b if the root is not rank 0
// Wins: many roots in turn, if a tree for each root would have to be built and kept
#include "algorithms/patterns/trees.hpp"

namespace copse::algorithms {

plan::Plan reduce_fixed(const Request& request) {
  Request fixed = request;
  fixed.root = 0;
  plan::Builder builder = request.builder();
  builder.loop();
  combine_up(builder, fixed.machine_tree(shape::Form::k_nomial), request.rank, 0, request.root);
  return builder.finish();
}

}  // namespace copse::algorithms
