// reduce, hierarchical: k-nomial trees inside NUMA regions, then over regions, packages and nodes (NUMACol 3.1; the
// n-ary tree of HMPI 2.2 mapped to the machine). Whoever is no root keeps partial results in its slots, the temporaries
// of HMPI 2.6, for its parent to pull; or pushes them, by put, into a scratch that its parent has for it.
// Cost: ceil(log_k Q) (k-1) (a + n (b + c)) for the Q ranks of a region, then likewise for each level above it
// Wins: several NUMA regions or nodes, up to where tiles pay: every far link is crossed once
#include "algorithms/patterns.hpp"

namespace copse::algorithms {

plan::Plan reduce_hierarchical(const Request &request) {
  plan::Builder builder = request.builder();
  builder.loop();
  combine_up(builder, request.machine_tree(shape::Form::k_nomial), request.rank, 0, request.root);
  return builder.finish();
}

}  // namespace copse::algorithms
