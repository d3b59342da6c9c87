// exscan, chain: rank r keeps what rank r - 1 gives it, combines that with its own message, and gives the result to the next
// rank.
// Cost: (P-1) (a + n (b + c)); cut into F fragments (P-1+F) (a + n/F (b + c)).
// Wins: on few ranks, and for long messages.
#include "algorithms/registry.hpp"

namespace copse::algorithms {

plan::Plan exscan_chain(const Request& request) {
  using plan::Builder;
  using plan::Operand;
  Builder builder = request.builder();
  const int rank = request.rank;
  const Operand partial = Builder::in_slot();
  builder.keep_in_slots();
  std::vector<int> next;
  if (rank + 1 < request.ranks) next.push_back(rank + 1);
  builder.loop();
  if (rank == 0) {
    builder.give(0, next, Builder::input());
  } else {
    const Operand before = builder.take(0, rank - 1, rank == 1 ? Builder::input() : partial, builder.scratch(0));
    if (!next.empty()) {
      const Operand sum = builder.open(0, next, partial);
      builder.reduce(sum, before, Builder::input());
      builder.post(0, next, sum);
    }
    builder.copy(Builder::output(), before);
  }
  builder.reclaim(next);
  return builder.finish();
}

}  // namespace copse::algorithms
