// reduce, hierarchical and flat: the leader of each NUMA region takes its region's messages, and k-nomial trees continue over
// regions, packages and nodes (NUMACol Table 1, hierarchical binomial+flat).
// Cost: a + (Q-1) n (b + c) for the Q ranks of a region, then ceil(log_k R) (k-1) (a + n (b + c)) over R regions
// Wins: short messages, small regions: one round of signals inside a region instead of ceil(log_k Q)
#include "algorithms/patterns/trees.hpp"

namespace copse::algorithms {

plan::Plan reduce_hierarchical_flat(const Request& request) {
  plan::Builder builder = request.builder();
  builder.loop();
  combine_up(builder, request.machine_tree(shape::Form::flat), request.rank, 0, request.root);
  return builder.finish();
}

}  // namespace copse::algorithms
