// broadcast, chain: each rank passes its fragments on to the next one (Worsch, Reussner, Augustin 2003).
// Cost: (P - 2 + n/m) (a + m b) with fragments of m bytes: every rank reads once and is read once
// Wins: long messages of many more fragments than ranks, if the ranks are numbered along the machine
#include "algorithms/patterns/trees.hpp"

namespace copse::algorithms {

plan::Plan broadcast_chain(const Request& request) {
  plan::Builder builder = request.builder();
  builder.loop();
  send_down(builder, request.ranks_tree(shape::Form::chain), request.rank, 0, plan::Builder::input());
  return builder.finish();
}

}  // namespace copse::algorithms
