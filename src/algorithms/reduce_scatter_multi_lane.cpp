// reduce_scatter, multi_lane: the allgather of that name, backwards. Each leader combines the blocks of its column over its node.
// The leaders of a column combine what they have by recursive halving, and give their teams the finished blocks (Traeff and
// Hunold 2020).
// Cost: a + P/L n (b + c) inside a node of Q ranks, ceil(log2 N) a + (N-1) Q/L n (b + c) over N nodes for L leaders, and a
// Wins: several nodes of many ranks: each node sends and receives what it must, and several ranks of it work at it
#include "algorithms/patterns/columns.hpp"
#include "algorithms/patterns/exchange.hpp"

namespace copse::algorithms {

plan::Plan reduce_scatter_multi_lane(const Request& request) {
  plan::Builder builder = request.builder();
  builder.loop();
  reduce_scatter_in(
      builder, request, 0, [&](int rank) { return column_rounds(request, rank); }, From::zero, plan::Space::slot,
      plan::Builder::output(request.block(request.rank)));
  builder.reclaim(request.others());
  return builder.finish();
}

}  // namespace copse::algorithms
