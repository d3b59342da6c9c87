// allreduce, reduce-broadcast in two stages: messages are combined up a hierarchical tree. Then the leader of each region
// takes the result, and the region takes it from its leader (HMPI 2.2). Over several nodes, their leaders come first.
// Cost: ceil(log_k Q) (k-1) (a + n (b + c)) for each level of Q branches, then 2 (a + n b)
// Wins: short messages over four regions and more, where having one reader for each link pays for the second stage
#include "algorithms/patterns/trees.hpp"

namespace copse::algorithms {

plan::Plan allreduce_reduce_broadcast_two_stage(const Request& request) {
  plan::Builder builder = request.builder();
  const shape::SurveyedTree& up = request.machine_tree(shape::Form::k_nomial);
  builder.loop();
  combine_up(builder, up, request.rank, 0, up.root);
  builder.lag(kLag);
  send_down(builder, request.two_stage_tree(), request.rank, 2, plan::Builder::output());
  return builder.finish();
}

}  // namespace copse::algorithms
