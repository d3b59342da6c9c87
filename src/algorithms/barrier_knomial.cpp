// barrier, knomial: arrivals go up a k-nomial tree over the ranks in order, and the release comes down it (UPC BCOL).
// Cost: 2 ceil(log_k P) (k-1) a
// Wins: nowhere if the machine is known; it is the baseline for the others
#include "algorithms/patterns/signals.hpp"

namespace copse::algorithms {

plan::Plan barrier_knomial(const Request& request) {
  plan::Builder builder = request.builder();
  const shape::SurveyedTree& tree = request.ranks_tree(shape::Form::k_nomial);
  meet(builder, tree, tree, request.rank);
  return builder.finish();
}

}  // namespace copse::algorithms
