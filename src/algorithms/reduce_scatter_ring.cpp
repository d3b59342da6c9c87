// reduce_scatter, ring: partial results go round the ranks, and each rank adds its input, until they reach their owners
// (Thakur et al. 2005; Patarasuk and Yuan 2009). A slot holds only one block.
// Cost: (P-1) (a + n (b + c)).
// Wins: large blocks where far links are few, and neighbours in rank order sit next to each other.
#include <algorithm>

#include "algorithms/patterns/rounds.hpp"
#include "algorithms/patterns/two_places.hpp"

namespace copse::algorithms {

plan::Plan reduce_scatter_ring(const Request& request) {
  using plan::Builder;
  using plan::Operand;
  Builder builder = request.builder();
  const int ranks = request.ranks;
  const Operand result = Builder::output(request.block(request.rank));
  builder.keep_in_slots();
  builder.loop();
  if (ranks == 1) {
    builder.copy(result, Builder::input(request.block(request.rank)));
    return builder.finish();
  }
  Rounds rounds = ring_rounds(ranks, request.rank, -1);  // of an allgather: backwards, a rank gives what it takes there
  std::reverse(rounds.begin(), rounds.end());
  const int to = rounds.front().taken.front().rank, from = rounds.front().given.front().rank;
  TwoPlaces turns(builder, 0, ranks - 1);
  turns.give(0, to, Builder::input(rounds.front().taken.front().blocks.front()));
  for (int round = 0; round + 1 < ranks; ++round) {
    const plan::Range block = rounds[static_cast<std::size_t>(round)].given.front().blocks.front();
    const Operand given = round == 0 ? Builder::input(block) : TwoPlaces::opened(block);
    const Operand partial = turns.take(round, from, given, builder.scratch(0, block));
    const bool last = round + 2 == ranks;
    const Operand place = last ? result : turns.open(round + 1, to, block);
    builder.reduce(place, partial, Builder::input(block));
    turns.taken(round, from, partial);
    if (!last) turns.post(round + 1, to, place);
  }
  builder.reclaim(std::vector{to});
  return builder.finish();
}

}  // namespace copse::algorithms
