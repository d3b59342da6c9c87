// broadcast, chain: each rank passes its fragments on to the next one.
#include "algorithms/patterns.hpp"

namespace copse::algorithms {

plan::Plan broadcast_chain(const Request &request) {
  plan::Builder builder = request.builder();
  builder.loop();
  send_down(builder, request.ranks_tree(shape::Form::chain), request.rank, 0, plan::Builder::input());
  return builder.finish();
}

}  // namespace copse::algorithms
