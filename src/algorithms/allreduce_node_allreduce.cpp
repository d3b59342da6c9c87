// allreduce, node by node: a tree over the machine's levels reduces inside each node, its root exchanges with those of
// the other nodes by recursive doubling, and its node takes the result from it (HMPI 2.5).
// Cost: ceil(log2 Q) (a + n (b + c)) inside a node of Q ranks, log2 N (a + n (b + c)) over N nodes, a + n b back
// Wins: clusters, short and medium messages: the wire carries each message once a round and node, without a way back
#include "algorithms/patterns.hpp"

namespace copse::algorithms {

plan::Plan allreduce_node_allreduce(const Request &request) {
  plan::Builder builder = request.builder();
  const auto nodes = groups_of(request, topology::Level::node);
  const Group &node = group_of(nodes, request.rank);
  Request unrooted = request;
  unrooted.root = 0;  // so that the first rank of each node leads it
  const shape::Tree whole = unrooted.machine_tree(shape::Form::k_nomial);
  shape::Tree tree = shape::unlinked(request.ranks, node.front());
  for (int rank : node) {
    const int parent = whole.parent[static_cast<std::size_t>(rank)];
    if (rank != tree.root) tree.parent[static_cast<std::size_t>(rank)] = parent;
    for (int child : whole.children[static_cast<std::size_t>(rank)])
      if (&group_of(nodes, child) == &node) tree.children[static_cast<std::size_t>(rank)].push_back(child);
  }
  builder.loop();
  combine_up(builder, tree, request.rank, 0, tree.root);
  double_up_over_nodes(builder, request, 1, {plan::Builder::output()});
  return builder.finish();
}

}  // namespace copse::algorithms
