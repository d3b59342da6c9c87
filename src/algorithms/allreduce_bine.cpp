// allreduce, bine: messages are combined up a binomial negabinary tree, and the result goes down the same tree (De Sensi et
// al. 2025, distance halving). The ranks form a ring, and the halves of the ranks meet a third of the way round it, where a
// binomial tree goes half of the way.
// Cost: 2 ceil(log2 P) a + ceil(log2 P) n (2 b + c); the sum of the distances between ranks is a third below binomial's
// Wins: short messages on a machine or network of unknown shape, where ranks with close numbers are close neighbours
#include "algorithms/patterns/trees.hpp"

namespace copse::algorithms {

plan::Plan allreduce_bine(const Request& request) {
  plan::Builder builder = request.builder();
  const shape::SurveyedTree& tree = request.ranks_tree(shape::Form::bine);
  builder.loop();
  combine_up(builder, tree, request.rank, 0, tree.root);
  builder.lag(kLag);
  send_down(builder, tree, request.rank, 2, plan::Builder::output());
  return builder.finish();
}

}  // namespace copse::algorithms
