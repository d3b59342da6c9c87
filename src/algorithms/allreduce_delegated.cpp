// allreduce, delegated: a tree combines the messages of each node. The leaders of the nodes combine theirs in the wire's own
// allreduce, an MPI's, fragment by fragment. Each node takes the result from its leader, while the next fragments are under way
// (HMPI 2.5).
// Cost: ceil(log_k Q) (k-1) (a + n/F (b + c)) inside a node of Q ranks, for F fragments, what the MPI takes for n among the nodes,
// and a + n b back
// Wins: several nodes whose network or switches reduce by themselves, or whose MPI is tuned for them
#include "algorithms/patterns/node_trees.hpp"
#include "algorithms/patterns/trees.hpp"

namespace copse::algorithms {

plan::Plan allreduce_delegated(const Request& request) {
  using plan::Builder;
  Builder builder = request.builder();
  const Groups& nodes = request.shared->groups(topology::Level::node);
  const Group leaders = nodes.leaders_ascending();
  const int rank = request.rank, leader = nodes.leader_of(rank);
  builder.loop();
  combine_up(builder, node_trees(request, leaders.front()), rank, 0, leader);
  if (rank == leader) builder.delegate(2, leaders, Builder::output(), Builder::output());
  builder.lag(kLag);
  if (rank == leader) builder.collect(2);
  send_down(builder, below_leaders(request), rank, 3, Builder::output());
  return builder.finish();
}

}  // namespace copse::algorithms
