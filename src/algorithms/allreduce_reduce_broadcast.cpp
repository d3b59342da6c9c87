// allreduce, reduce-broadcast in one stage: every rank takes the result from the reduction tree's root (HMPI 2.2).
#include "algorithms/patterns.hpp"

namespace copse::algorithms {

plan::Plan allreduce_reduce_broadcast(const Request &request) {
  plan::Builder builder = request.builder();
  const shape::Tree up = request.machine_tree(shape::Form::k_nomial);
  builder.loop();
  combine_up(builder, up, request.rank, 0, up.root);
  builder.lag(kLag);
  send_down(builder, request.ranks_tree(shape::Form::flat), request.rank, 2, plan::Builder::output());
  return builder.finish();
}

}  // namespace copse::algorithms
