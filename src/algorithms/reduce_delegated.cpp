// reduce, delegated: a tree combines the messages of each node. The leaders of the nodes combine theirs in the wire's own reduce,
// an MPI's, fragment by fragment. The leader of the root's node gives the root the result (HMPI 2.5).
// Cost: ceil(log_k Q) (k-1) (a + n/F (b + c)) inside a node of Q ranks, for F fragments, and what the MPI takes for n among the
// nodes
// Wins: several nodes whose network or switches reduce by themselves, or whose MPI is tuned for them
#include "algorithms/patterns/node_trees.hpp"
#include "algorithms/patterns/trees.hpp"

namespace copse::algorithms {

plan::Plan reduce_delegated(const Request& request) {
  using plan::Builder;
  using plan::Operand;
  Builder builder = request.builder();
  const Groups& nodes = request.shared->groups(topology::Level::node);
  const Group leaders = nodes.leaders_ascending();
  const int rank = request.rank, target = nodes.leader_of(request.root);
  const shape::SurveyedTree& inside = node_trees(request, leaders.front());
  const bool is_leader = rank == nodes.leader_of(rank), is_root = rank == request.root;
  const std::vector<int> readers = rank == target && !is_root ? std::vector<int>{request.root} : std::vector<int>{};

  builder.loop();
  Operand sum = Builder::output();
  if (is_leader && is_root) {
    combine_up(builder, inside, rank, 0, rank);
  } else {
    const bool alone = is_leader && nodes.of(rank).size() == 1;
    sum = alone ? Builder::input() : combine_in_root(builder, inside, rank, 0, readers, {});
    if (alone) builder.keep_in_slots();
  }
  if (is_leader) builder.delegate(2, leaders, rank == target ? sum : Operand{}, sum, target);
  builder.lag(kLag);
  if (is_leader) builder.collect(2);
  builder.post(1, readers, sum);
  if (is_root && !is_leader) {
    const Operand given = Builder::in_slot();
    builder.bring(1, target, given, Builder::output());
  }
  return builder.finish();
}

}  // namespace copse::algorithms
