// neighbor_alltoall, flat: every rank takes its block from each of its neighbours. There is one round: a rank packs its blocks for
// all who take from it. The order begins behind the rank itself, so that not all ranks of a dense graph read from the same one at
// the same time (the rotated order of KNEM IV.C).
// Cost: a + d n b for d neighbours; twice the copies if staged.
// Wins: blocks whose lengths all ranks know, and where not all buffers can be reached
#include "algorithms/patterns/pairs.hpp"

namespace copse::algorithms {

plan::Plan neighbor_alltoall_flat(const Request& request) {
  plan::Builder builder = request.builder();
  const int rank = request.rank;
  builder.pack(static_cast<std::uint32_t>(request.ranks));
  builder.loop();
  const std::vector<int>& takers = request.graph->takers_of(rank);
  std::vector<plan::Range> parts;
  for (const int taker : takers) parts.push_back(request.pair(rank, taker));
  if (!takers.empty()) {
    builder.share_input(0, takers, parts);
    builder.reclaim_input(takers);
  }
  std::vector<int> givers;
  for (const Graph::Giver& giver : request.givers()) givers.push_back(giver.rank);
  take_blocks(builder, request, 0, givers, request.graph->has_edge(rank, rank));
  return builder.finish();
}

}  // namespace copse::algorithms
