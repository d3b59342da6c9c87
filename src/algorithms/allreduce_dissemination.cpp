// allreduce, dissemination in as many dimensions as the machine has levels (HMPI 2.3, 2.5: inside a socket, across sockets,
// across nodes). It doubles over the ranks of each NUMA region first. Then it doubles over the regions of each node, where
// each rank exchanges with its image in the other region. Finally, it doubles over nodes, where one rank speaks for each
// node. In each exchange, both partners combine in the same order, so all ranks get the same bits. They would not if a rank
// combined with the rank 2^i ahead, as in plain dissemination.
// Cost: (log2 Q + log2 R + log2 N) (a + n (b + c)) for Q ranks in a region, R regions in a node, N nodes
// Wins: short messages over several equal regions: far exchanges only in the last rounds, and on one node no way back down
#include <algorithm>

#include "algorithms/patterns/doubling.hpp"

namespace copse::algorithms {

plan::Plan allreduce_dissemination(const Request& request) {
  plan::Builder builder = request.builder();
  using topology::Level;
  const Groups &nodes = request.shared->groups(Level::node), &regions = request.shared->groups(Level::numa);
  const auto& regions_of = request.shared->inside(Level::node, Level::numa);
  int over_regions = 0, over_nodes = 0;  // the first areas of these stages, the same on all ranks
  for (const Group& region : regions) over_regions = std::max(over_regions, doubling_areas(region.size()));
  for (const auto& of_node : regions_of) over_nodes = std::max(over_nodes, doubling_areas(of_node.size()));
  over_nodes += over_regions;

  plan::Builder::need_areas(over_nodes + (nodes.size() > 1 ? doubling_areas(nodes.size()) + 1 : 0));
  builder.loop();
  // If there are several nodes, only the rank that speaks for a node wants the node's sum. The other ranks do no more than
  // that sum takes.
  const Teams own_regions(regions_of[nodes.index_of(request.rank)]);
  const Wanted of_node = [&](int rank) { return nodes.size() == 1 || rank == nodes.leader_of(rank); };
  const Wanted of_region = [&](int rank) { return needed_to_double_up(own_regions, rank, of_node); };
  Sum sum{plan::Builder::input()};
  sum = double_up(builder, Teams::singles(regions.of(request.rank)), request.rank, 0, sum, of_region);
  sum = double_up(builder, own_regions, request.rank, over_regions, sum, of_node);
  if (nodes.size() == 1) {
    settle(builder, plan::Builder::output(), sum);
  } else {
    double_up_over_nodes(builder, request, over_nodes, sum);
  }
  return builder.finish();
}

}  // namespace copse::algorithms
