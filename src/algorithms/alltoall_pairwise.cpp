// alltoall, pairwise exchange: in round k every rank gives a block to the rank k ahead and takes one from the rank k behind.
// If P is a power of two, it exchanges with rank XOR k instead (Thakur et al. 2005). A slot holds only one block. Under put,
// every rank pushes its blocks in this order.
// Cost: (P-1) (a + n b); twice the copies if staged.
// Wins: large blocks between nodes, where all links are busy in every round; put, where writing is cheaper than reading.
#include <bit>

#include "algorithms/patterns/two_places.hpp"

namespace copse::algorithms {

plan::Plan alltoall_pairwise(const Request& request) {
  using plan::Builder;
  using plan::Operand;
  Builder builder = request.builder();
  const int rank = request.rank, ranks = request.ranks;
  const bool exchange = std::has_single_bit(static_cast<unsigned>(ranks));
  TwoPlaces turns(builder, 0, ranks - 1);
  builder.loop();
  builder.copy(Builder::output(request.pair(rank, rank)), Builder::input(request.pair(rank, rank)));
  for (int round = 0; round + 1 < ranks; ++round) {
    const int to = exchange ? rank ^ (round + 1) : (rank + round + 1) % ranks;
    const int from = exchange ? to : (rank + ranks - round - 1) % ranks;
    turns.give(round, to, Builder::input(request.pair(rank, to)));
    const plan::Range block = request.pair(from, rank);
    const Operand theirs = turns.take(round, from, Builder::input(block), Builder::output(block));
    builder.copy(Builder::output(block), theirs);
    turns.taken(round, from, theirs);
  }
  builder.reclaim(request.others());
  return builder.finish();
}

}  // namespace copse::algorithms
