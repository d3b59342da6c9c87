// barrier, dissemination in as many dimensions as the machine has levels (HMPI 2.3 to 2.6, three of them: inside a
// socket, across sockets, across nodes): first the ranks of a NUMA region, then regions, in which each rank signals its
// image in the others, then nodes, for which one rank of each node speaks; it releases the others.
// Cost: ceil(log_k Q) a + ceil(log_k R) a + ceil(log_k N) a + a for Q ranks in a region, R regions in a node, N nodes
// Wins: several regions of equal size: far signals only in the last rounds, and no way back down
#include <algorithm>

#include "algorithms/patterns.hpp"

namespace copse::algorithms {

plan::Plan barrier_dissemination_levels(const Request &request) {
  plan::Builder builder = request.builder();
  const auto nodes = groups_of(request, topology::Level::node), regions = groups_of(request, topology::Level::numa);
  const auto &node = group_of(nodes, request.rank), &region = group_of(regions, request.rank);
  // Areas are numbered for the largest groups, so that all ranks number them alike.
  std::size_t most_ranks = 1, most_regions = 1;
  for (const Group &each : regions) most_ranks = std::max(most_ranks, each.size());
  for (const Group &each : nodes) most_regions = std::max(most_regions, inside(regions, each).size());
  const int over_regions = dissemination_rounds(most_ranks, request.radix);
  const int over_nodes = over_regions + dissemination_rounds(most_regions, request.radix);
  const int release = over_nodes + dissemination_rounds(nodes.size(), request.radix);

  disseminate(builder, singles(region), request.rank, request.radix, 0);
  disseminate(builder, inside(regions, node), request.rank, request.radix, over_regions);
  if (nodes.size() == 1) return builder.finish();
  const int leader = node.front();
  if (request.rank != leader) {
    builder.await_signal(release, leader);
    return builder.finish();
  }
  Group leaders;
  for (const Group &each : nodes) leaders.push_back(each.front());
  disseminate(builder, singles(leaders), leader, request.radix, over_nodes);
  builder.signal(release, std::span(node).subspan(1));
  return builder.finish();
}

}  // namespace copse::algorithms
