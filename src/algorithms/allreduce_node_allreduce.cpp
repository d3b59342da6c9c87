// allreduce, node by node: a tree over the machine's levels reduces inside each node. The roots of these trees exchange by
// recursive doubling, and each node takes the result from the root of its tree (HMPI 2.5).
// Cost: ceil(log2 Q) (a + n (b + c)) inside a node of Q ranks, log2 N (a + n (b + c)) over N nodes, a + n b back
// Wins: short and medium messages on clusters: the wire carries one message per round and node, and none on a way back
#include "algorithms/patterns/patterns.hpp"

namespace copse::algorithms {

plan::Plan allreduce_node_allreduce(const Request& request) {
  plan::Builder builder = request.builder();
  const Groups& nodes = request.shared->groups(topology::Level::node);
  Request unrooted = request;
  unrooted.root = nodes.leaders().front();  // so that each node's leader has its sum
  const auto& inside = request.shared->tree({"machine, each node by itself", {request.radix}}, [&] {
    shape::Tree tree = unrooted.machine_tree(shape::Form::k_nomial);
    for (int rank = 0; rank < request.ranks; ++rank) {
      const auto elsewhere = [&](int other) { return nodes.index_of(other) != nodes.index_of(rank); };
      int& parent = tree.parent[static_cast<std::size_t>(rank)];
      if (parent != shape::kNoParent && elsewhere(parent)) parent = shape::kNoParent;
      std::erase_if(tree.children[static_cast<std::size_t>(rank)], elsewhere);
    }
    return shape::SurveyedTree(std::move(tree));
  });
  builder.loop();
  combine_up(builder, inside, request.rank, 0, nodes.leader_of(request.rank));
  double_up_over_nodes(builder, request, 1, {plan::Builder::output()});
  return builder.finish();
}

}  // namespace copse::algorithms
