// scan, chain: rank r combines what rank r - 1 gives it with its own message, and gives the result to the next rank.
// Fragments make it a pipeline.
// Cost: (P-1) (a + n (b + c)); cut into F fragments (P-1+F) (a + n/F (b + c)).
// Wins: on few ranks, and for long messages.
#include "algorithms/registry.hpp"

namespace copse::algorithms {

plan::Plan scan_chain(const Request& request) {
  using plan::Builder;
  Builder builder = request.builder();
  const int rank = request.rank;
  std::vector<int> next;
  if (rank + 1 < request.ranks) next.push_back(rank + 1);
  builder.loop();
  if (rank == 0) {
    builder.give(0, next, Builder::input());
    builder.copy(Builder::output(), Builder::input());
  } else {
    const plan::Operand before = rank == 1 ? Builder::input() : Builder::output();
    const plan::Operand sum = builder.take(0, rank - 1, before, builder.scratch(0));
    builder.reduce(Builder::output(), sum, Builder::input());
    if (!next.empty()) builder.give(0, next, Builder::output());
  }
  builder.reclaim(next);
  return builder.finish();
}

}  // namespace copse::algorithms
