// barrier, tree with a release in two stages: arrivals go up a k-nomial tree over the machine's levels. Then the leader of
// each region reads the root's signal, and the ranks of the region read their leader's signal (HMPI 2.6 with the two-stage
// broadcast of 2.2).
// Cost: ceil(log_k Q) (k-1) a inside a region of Q ranks, as much for each level above it, and 2 a for the release
// Wins: four regions and more: HMPI found two stages best on four sockets
#include "algorithms/patterns/signals.hpp"

namespace copse::algorithms {

plan::Plan barrier_tree_two_stage(const Request& request) {
  plan::Builder builder = request.builder();
  const shape::SurveyedTree& down = request.two_stage_tree();
  meet(builder, request.machine_tree(shape::Form::k_nomial), down, request.rank);
  return builder.finish();
}

}  // namespace copse::algorithms
