// barrier, tree: a reduce-broadcast allreduce without data (HMPI 2.6). Arrivals go up a k-nomial tree over the machine's
// levels, and the release comes down the same tree.
// Cost: 2 ceil(log_k Q) (k-1) a inside a region of Q ranks, and as much again for each level above it
// Wins: many ranks over several regions or nodes: each far link is crossed once each way
#include "algorithms/patterns/signals.hpp"

namespace copse::algorithms {

plan::Plan barrier_tree(const Request& request) {
  plan::Builder builder = request.builder();
  const shape::SurveyedTree& tree = request.machine_tree(shape::Form::k_nomial);
  meet(builder, tree, tree, request.rank);
  return builder.finish();
}

}  // namespace copse::algorithms
