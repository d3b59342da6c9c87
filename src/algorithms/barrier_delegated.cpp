// barrier, delegated: arrivals go up a tree inside each node. The leaders of the nodes meet in the wire's own barrier, an MPI's,
// and the release comes down the trees (HMPI 2.6).
// Cost: 2 ceil(log_k Q) (k-1) a inside a node of Q ranks, and what the MPI takes among the nodes
// Wins: many nodes whose network has a barrier of its own
#include "algorithms/patterns/node_trees.hpp"

namespace copse::algorithms {

plan::Plan barrier_delegated(const Request& request) {
  plan::Builder builder = request.builder();
  const Group leaders = request.shared->groups(topology::Level::node).leaders_ascending();
  const shape::SurveyedTree& tree = node_trees(request, leaders.front());
  const auto me = static_cast<std::size_t>(request.rank);
  for (const int child : tree.children[me]) builder.await_signal(0, child);
  if (tree.parent[me] == shape::kNoParent) {
    builder.delegate(2, leaders, {}, {});
    builder.collect(2);
  } else {
    const std::int32_t parent[] = {tree.parent[me]};
    builder.signal(0, parent);
    builder.await_signal(1, parent[0]);
  }
  builder.signal(1, tree.children[me]);
  return builder.finish();
}

}  // namespace copse::algorithms
