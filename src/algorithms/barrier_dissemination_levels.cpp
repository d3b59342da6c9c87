// barrier, dissemination in as many dimensions as the machine has levels (HMPI 2.3 to 2.6, with three: inside a socket,
// across sockets, across nodes). The first dimension is the ranks of a NUMA region. The second is the regions of a node,
// where each rank signals its images in the other regions. The third is the nodes, where one rank speaks for each node and
// then releases the other ranks of its node.
// Cost: ceil(log_k Q) a + ceil(log_k R) a + ceil(log_k N) a + a for Q ranks in a region, R regions in a node, N nodes
// Wins: several regions of equal size: far signals only in the last rounds, and no way back down
#include <algorithm>

#include "algorithms/patterns/signals.hpp"

namespace copse::algorithms {

plan::Plan barrier_dissemination_levels(const Request& request) {
  plan::Builder builder = request.builder();
  using topology::Level;
  const Groups &nodes = request.shared->groups(Level::node), &regions = request.shared->groups(Level::numa);
  const auto& regions_of = request.shared->inside(Level::node, Level::numa);
  const Group &node = nodes.of(request.rank), &region = regions.of(request.rank);
  // Areas are numbered for the largest groups, so that all ranks number them alike.
  std::size_t most_regions = 1;
  for (const auto& each : regions_of) most_regions = std::max(most_regions, each.size());
  const int over_regions = dissemination_rounds(regions.largest(), request.radix);
  const int over_nodes = over_regions + dissemination_rounds(most_regions, request.radix);
  const int release = over_nodes + dissemination_rounds(nodes.size(), request.radix);

  plan::Builder::need_areas(release + 1);
  disseminate(builder, Teams::singles(region), request.rank, request.radix, 0);
  disseminate(builder, Teams(regions_of[nodes.index_of(request.rank)]), request.rank, request.radix, over_regions);
  if (nodes.size() == 1) return builder.finish();
  const int leader = nodes.leader_of(request.rank);
  if (request.rank != leader) {
    builder.await_signal(release, leader);
    return builder.finish();
  }
  const Group leaders = nodes.leaders_ascending();
  Group others = node;
  std::erase(others, leader);
  disseminate(builder, Teams::singles(leaders), leader, request.radix, over_nodes);
  builder.signal(release, others);
  return builder.finish();
}

}  // namespace copse::algorithms
