// reduce_scatter, ring: partial results go round the ranks, and each rank adds its input, until they reach their owners
// (Thakur et al. 2005; Patarasuk and Yuan 2009). A slot holds only one block.
// Cost: (P-1) (a + n (b + c)).
// Wins: large blocks where far links are few, and neighbours in rank order sit next to each other.
#include "algorithms/patterns/exchange.hpp"

namespace copse::algorithms {

plan::Plan reduce_scatter_ring(const Request& request) {
  using plan::Builder;
  using plan::Operand;
  Builder builder = request.builder();
  const int rank = request.rank, ranks = request.ranks;
  const int next = (rank + 1) % ranks, previous = (rank + ranks - 1) % ranks;
  Operand result = Builder::output(request.block(rank));
  builder.keep_in_slots();
  builder.loop();
  if (ranks == 1) {
    builder.copy(result, Builder::input(request.block(rank)));
    return builder.finish();
  }
  TwoPlaces turns(builder, 0, ranks - 1);
  turns.give(0, next, Builder::input(request.block(previous)));
  for (int round = 0; round + 1 < ranks; ++round) {
    const plan::Range block = request.block((rank + 2 * ranks - 2 - round) % ranks);
    const Operand given = round == 0 ? Builder::input(block) : TwoPlaces::opened(block);
    const Operand partial = turns.take(round, previous, given, builder.scratch(0, block));
    const bool last = round + 2 == ranks;
    const Operand place = last ? result : turns.open(round + 1, next, block);
    builder.reduce(place, partial, Builder::input(block));
    turns.taken(round, previous, partial);
    if (!last) turns.post(round + 1, next, place);
  }
  builder.reclaim(std::vector{next});
  return builder.finish();
}

}  // namespace copse::algorithms
