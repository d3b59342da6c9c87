// permute, direct: every rank gives its message to the rank that the permutation names, and takes the message of one other
// rank (UPC REF, upc_all_permute, by pull or by push). Each byte that must move is moved once, and all ranks that have bytes
// to move do so at the same time. So no other way moves less or takes fewer steps.
// Cost: a + n b for every rank, if the links bear all messages at once; only a copy for a rank that keeps its own message
// Wins: always within a node; between nodes, short messages from several ranks of a node to one other node could share one,
// but here each goes by itself
#include "algorithms/registry.hpp"

namespace copse::algorithms {

plan::Plan permute_direct(const Request& request) {
  using plan::Builder;
  Builder builder = request.builder();
  const int to = request.permutation[static_cast<std::size_t>(request.rank)];
  const int from = giver_to(request.permutation, request.rank);
  builder.ends_on(0);
  builder.loop();
  if (to == request.rank) {
    builder.copy(Builder::output(), Builder::input());
    return builder.finish();
  }
  const std::vector<int> taker{to};
  builder.give(0, taker, Builder::input());
  builder.bring(0, from, Builder::input(), Builder::output());
  builder.reclaim(taker);
  return builder.finish();
}

}  // namespace copse::algorithms
