// reduce, hierarchical: k-nomial trees inside regions, then over them (NUMACol 3, HMPI 2.2).
#include "algorithms/patterns.hpp"

namespace copse::algorithms {

plan::Plan reduce_hierarchical(const Request &request) {
  plan::Builder builder = request.builder();
  builder.loop();
  combine_up(builder, request.machine_tree(shape::Form::k_nomial), request.rank, 0, request.root);
  return builder.finish();
}

}  // namespace copse::algorithms
