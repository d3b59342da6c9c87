// reduce, hierarchical: messages are combined up k-nomial trees inside NUMA regions, and then over regions, packages and
// nodes (NUMACol 3.1; the n-ary tree of HMPI 2.2 mapped to the machine). Ranks other than the root keep partial results in
// their slots, the temporaries of HMPI 2.6, and their parents pull them from there. By put, the ranks push them into a
// scratch that the parent has for them.
// Cost: ceil(log_k Q) (k-1) (a + n (b + c)) for the Q ranks of a region, then likewise for each level above it
// Wins: several NUMA regions or nodes, for messages up to the length where tiles are better: every far link is crossed once
#include "algorithms/patterns/trees.hpp"

namespace copse::algorithms {

plan::Plan reduce_hierarchical(const Request& request) {
  plan::Builder builder = request.builder();
  builder.loop();
  combine_up(builder, request.machine_tree(shape::Form::k_nomial), request.rank, 0, request.root);
  return builder.finish();
}

}  // namespace copse::algorithms
