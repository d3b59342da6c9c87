// allreduce, node by node: a tree over the machine's levels reduces inside each node. The roots of these trees exchange by
// recursive doubling, and each node takes the result from the root of its tree (HMPI 2.5).
// Cost: ceil(log2 Q) (a + n (b + c)) inside a node of Q ranks, log2 N (a + n (b + c)) over N nodes, a + n b back
// Wins: short and medium messages on clusters: the wire carries one message per round and node, and none on a way back
#include "algorithms/patterns/doubling.hpp"
#include "algorithms/patterns/node_trees.hpp"
#include "algorithms/patterns/trees.hpp"

namespace copse::algorithms {

plan::Plan allreduce_node_allreduce(const Request& request) {
  plan::Builder builder = request.builder();
  const Groups& nodes = request.shared->groups(topology::Level::node);
  const shape::SurveyedTree& inside = node_trees(request, nodes.leaders().front());
  builder.loop();
  combine_up(builder, inside, request.rank, 0, nodes.leader_of(request.rank));
  double_up_over_nodes(builder, request, 1, {plan::Builder::output()});
  return builder.finish();
}

}  // namespace copse::algorithms
