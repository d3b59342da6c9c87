// allreduce, exchange: in one round, every rank takes every message and combines them all. All ranks combine in rank order,
// so all get the same bits.
// Cost: a + (P-1) n (b + c)
// Wins: short messages of a few ranks; more ranks than processors, where every round costs all ranks a turn
#include "algorithms/patterns/sums.hpp"

namespace copse::algorithms {

plan::Plan allreduce_exchange(const Request& request) {
  using plan::Builder;
  Builder builder = request.builder();
  const auto others = request.others();
  builder.loop();
  // If the input is the output, the first reduction overwrites it. It reads the messages of ranks 0 and 1. Every other rank
  // reads its own message later, so it uses the copy that it gave.
  const plan::Operand mine = builder.open(0, others, builder.scratch(1));
  builder.copy(mine, Builder::input());
  builder.post(0, others, mine);
  const plan::Operand own = request.rank < 2 ? Builder::input() : mine;
  std::vector<Fetch> items;
  for (int rank = 0; rank < request.ranks; ++rank) {
    if (rank == request.rank) {
      items.emplace_back([own] { return own; });
    } else {
      // The message of rank 0 waits for that of rank 1. If both come over the wire, they need two scratches.
      items.emplace_back([&builder, rank] { return builder.take(0, rank, Builder::input(), builder.scratch(rank == 0 ? 2 : 0)); });
    }
  }
  fold(builder, Builder::output(), items, 0);
  return builder.finish();
}

}  // namespace copse::algorithms
