// reduce_scatter, pairwise exchange: in round k every rank gives the rank k ahead its part of that rank's block, and adds to
// its own block what the rank k behind has for it (Thakur et al. 2005). Parts from higher ranks are combined separately, so
// that the order of the ranks is kept. A slot holds only one block.
// Cost: (P-1) (a + n (b + c)).
// Wins: large elements and operators that do not commute; large blocks between nodes.
#include "algorithms/patterns/sums.hpp"
#include "algorithms/patterns/two_places.hpp"

namespace copse::algorithms {

plan::Plan reduce_scatter_pairwise(const Request& request) {
  using plan::Builder;
  using plan::Operand;
  Builder builder = request.builder();
  const int rank = request.rank, ranks = request.ranks;
  const plan::Range mine = request.block(rank);
  const Operand result = Builder::output(mine);
  Operand low = Builder::input(mine), high;  // the sums of the ranks up to this one, and of those after it
  TwoPlaces turns(builder, 0, ranks - 1);
  builder.loop();
  for (int round = 0; round + 1 < ranks; ++round) {
    const int to = (rank + round + 1) % ranks, from = (rank + ranks - round - 1) % ranks;
    turns.give(round, to, Builder::input(request.block(to)));
    const Operand theirs = turns.take(round, from, Builder::input(mine), builder.scratch(0, mine));
    if (from < rank) {
      builder.reduce(result, theirs, low);
      low = result;
    } else if (high.space == plan::Space::none) {
      high = builder.scratch(1, mine);
      builder.copy(high, theirs);
    } else {
      builder.reduce(high, theirs, high);
    }
    turns.taken(round, from, theirs);
  }
  settle(builder, result, {low, high});
  builder.reclaim(request.others());
  return builder.finish();
}

}  // namespace copse::algorithms
