// barrier, central: every rank signals rank 0, which then releases all with one signal (UPC REF).
// Cost: 2 a + (P-1) loads of a line by rank 0
// Wins: few ranks, if rank 0 arrives first; more ranks than processors: rank 0 leaves first, so what it gives next (a
// broadcast, a scatter) is there when the others get their turn
#include "algorithms/patterns/signals.hpp"

namespace copse::algorithms {

plan::Plan barrier_central(const Request& request) {
  plan::Builder builder = request.builder();
  const shape::SurveyedTree& tree = request.ranks_tree(shape::Form::flat);
  meet(builder, tree, tree, request.rank);
  return builder.finish();
}

}  // namespace copse::algorithms
