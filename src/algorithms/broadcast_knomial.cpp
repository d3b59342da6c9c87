// broadcast, knomial: a k-nomial tree over the ranks in order.
#include "algorithms/patterns.hpp"

namespace copse::algorithms {

plan::Plan broadcast_knomial(const Request &request) {
  plan::Builder builder = request.builder();
  builder.loop();
  send_down(builder, request.ranks_tree(shape::Form::k_nomial), request.rank, 0, plan::Builder::input());
  return builder.finish();
}

}  // namespace copse::algorithms
