// allreduce, reduce-broadcast: messages are combined up a hierarchical tree, and then every rank takes the result from the
// root of that tree (HMPI 2.2, one-stage broadcast). HMPI's n-ary tree, in which an inner node is the first of its leaves, is
// the k-nomial tree with k = n.
// Cost: ceil(log_k Q) (k-1) (a + n (b + c)) for each level of Q branches, then a + n b, shared by all readers
// Wins: short messages over several NUMA regions whose links can carry all readers of the root: two sockets in HMPI
#include "algorithms/patterns/trees.hpp"

namespace copse::algorithms {

plan::Plan allreduce_reduce_broadcast(const Request& request) {
  plan::Builder builder = request.builder();
  const shape::SurveyedTree& up = request.machine_tree(shape::Form::k_nomial);
  builder.loop();
  combine_up(builder, up, request.rank, 0, up.root);
  builder.lag(kLag);
  send_down(builder, request.ranks_tree(shape::Form::flat), request.rank, 2, plan::Builder::output());
  return builder.finish();
}

}  // namespace copse::algorithms
