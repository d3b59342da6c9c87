// allreduce, exchange: in one round, every rank takes every message and combines them all, in rank order, so that all get the
// same bits.
// Cost: a + (P-1) n (b + c)
// Wins: short messages of a few ranks; more ranks than processors, where every round costs all ranks a turn
#include "algorithms/patterns/patterns.hpp"

namespace copse::algorithms {

plan::Plan allreduce_exchange(const Request &request) {
  using plan::Builder;
  Builder builder = request.builder();
  const auto others = request.others();
  builder.loop();
  // In place, the input is gone with the first sum: who comes later in it reads its own message where it gave it.
  const plan::Operand mine = builder.open(0, others, builder.scratch(1));
  builder.copy(mine, Builder::input());
  builder.post(0, others, mine);
  const plan::Operand own = request.rank < 2 ? Builder::input() : mine;
  std::vector<Fetch> items;
  for (int rank = 0; rank < request.ranks; ++rank) {
    if (rank == request.rank) {
      items.emplace_back([own] { return own; });
    } else {
      // The first one waits for the second: they need two places if both come over the wire.
      items.emplace_back([&builder, rank] {
        return builder.take(0, rank, Builder::input(), builder.scratch(rank == 0 ? 2 : 0));
      });
    }
  }
  fold(builder, Builder::output(), items, 0);
  return builder.finish();
}

}  // namespace copse::algorithms
