// allgather, gather and broadcast: rank 0 takes every block, and then every rank takes all of them from rank 0 (KNEM IV.C, which
// notes that the memory of rank 0 is under pressure).
// Cost: 2 a + 2 (P-1) n b at the root.
// Wins: nowhere; it is the baseline for the others.
#include "algorithms/patterns/exchange.hpp"

namespace copse::algorithms {

plan::Plan allgather_gather_broadcast(const Request& request) {
  plan::Builder builder = request.builder();
  const shape::SurveyedTree& tree = request.ranks_tree(shape::Form::flat);
  builder.loop();
  allgather_in(builder, request, 0, forest_rounds(tree, request.rank), From::zero);
  return builder.finish();
}

}  // namespace copse::algorithms
