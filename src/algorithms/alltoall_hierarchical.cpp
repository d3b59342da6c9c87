// alltoall, hierarchical: the blocks from the ranks of one node to those of another cross the wire as one message (Kumar et
// al. 2008). Each rank leads its node towards some of the other nodes, so that all processors pack. A rank that leads towards
// node N takes the blocks for N from every rank of its own node, and sends them to that rank of N which leads towards its own
// node. It gives its own node the blocks that come from N. Inside a node all blocks go directly, as in flat. Ranks handle blocks
// of other ranks, so all blocks must be of one size.
// Cost: 2 a + (P-r) n b for r ranks on each of N nodes, and (N-1)/r (a + r^2 n b) on the wire.
// Wins: small blocks between nodes of many ranks: a rank sends (N-1)/r messages instead of P-r.
#include "algorithms/patterns/talks.hpp"

namespace copse::algorithms {

namespace {

// Returns the talks of this rank's node, in which every rank has a block for every rank of the other node.
Talks talks_of_all(const Request& request) {
  const Groups& nodes = request.shared->groups(topology::Level::node);
  const std::size_t home = nodes.index_of(request.rank);
  const auto talk_with = [&](std::size_t other, const Group& givers, const Group& takers) {
    Talk talk{speaker_for(nodes, home, other), speaker_for(nodes, other, home), {}};
    for (const int from : givers) talk.parts.push_back({from, takers});
    return talk;
  };
  Talks talks;
  for (std::size_t ahead = 1; ahead < nodes.size(); ++ahead) {
    const std::size_t other = (home + ahead) % nodes.size();
    talks.leaving.push_back(talk_with(other, nodes[home], nodes[other]));
    talks.coming.push_back(talk_with(other, nodes[other], nodes[home]));
  }
  return talks;
}

}  // namespace

std::uint32_t alltoall_hierarchical_pack(const Request& request) { return most_held(request); }

plan::Plan alltoall_hierarchical(const Request& request) {
  plan::Builder builder = request.builder();
  builder.pack(most_held(request));
  if (request.shared->groups(topology::Level::node).size() > 1) builder.give_from_scratch();
  builder.loop();
  exchange_by_talks(builder, request, talks_of_all(request), [](int, int) { return true; });
  return builder.finish();
}

}  // namespace copse::algorithms
