// broadcast, delegated: the leaders of the nodes have the message from the wire's own broadcast, an MPI's, fragment by fragment.
// Inside each node it goes down a tree, while the next fragments are under way (HMPI 2.5).
// Cost: what the MPI takes for n among the nodes, and ceil(log_k Q) (k-1) (a + n/F b) inside a node of Q ranks, for F fragments
// Wins: several nodes whose network or switches broadcast by themselves, or whose MPI is tuned for them
#include "algorithms/patterns/node_trees.hpp"
#include "algorithms/patterns/trees.hpp"

namespace copse::algorithms {

plan::Plan broadcast_delegated(const Request& request) {
  using plan::Builder;
  Builder builder = request.builder();
  const Groups& nodes = request.shared->groups(topology::Level::node);
  const Group leaders = nodes.leaders_ascending();
  const int rank = request.rank, leader = nodes.leader_of(rank), source = nodes.leader_of(request.root);
  const plan::Operand value = rank == request.root ? Builder::input() : Builder::output();
  const plan::Operand top = leader == source ? Builder::input() : Builder::output();  // where the tree of this node begins
  const auto delegate = [&] {
    const bool gives = rank == source;
    builder.delegate(1, leaders, gives ? plan::Operand{} : value, gives ? value : plan::Operand{}, source);
  };
  const auto collect = [&] {
    builder.lag(kLag);
    builder.collect(1);
  };

  builder.loop();
  const bool first = rank == leader && (leader != source || rank == request.root);  // the network takes longer than the node
  if (first) delegate();
  if (rank == leader && leader != source) collect();
  send_down(builder, node_trees(request, request.root), rank, 0, top);
  if (rank == source && !first) delegate();
  if (rank == source) collect();
  return builder.finish();
}

}  // namespace copse::algorithms
