// reduce, knomial: a k-nomial tree over the ranks in order; it keeps rank order (HMPI 2.2).
#include "algorithms/patterns.hpp"

namespace copse::algorithms {

plan::Plan reduce_knomial(const Request &request) {
  plan::Builder builder = request.builder();
  builder.loop();
  combine_up(builder, request.ranks_tree(shape::Form::k_nomial), request.rank, 0, request.root);
  return builder.finish();
}

}  // namespace copse::algorithms
