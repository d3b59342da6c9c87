// broadcast, hierarchical_flat: k-nomial trees down to the NUMA region, flat inside it (NUMACol 3).
#include "algorithms/patterns.hpp"

namespace copse::algorithms {

plan::Plan broadcast_hierarchical_flat(const Request &request) {
  plan::Builder builder = request.builder();
  builder.loop();
  send_down(builder, request.machine_tree(shape::Form::flat), request.rank, 0, plan::Builder::input());
  return builder.finish();
}

}  // namespace copse::algorithms
