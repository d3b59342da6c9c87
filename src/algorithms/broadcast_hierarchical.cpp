// broadcast, hierarchical: k-nomial trees over every level of the machine (NUMACol 3).
#include "algorithms/patterns.hpp"

namespace copse::algorithms {

plan::Plan broadcast_hierarchical(const Request &request) {
  plan::Builder builder = request.builder();
  builder.loop();
  send_down(builder, request.machine_tree(shape::Form::k_nomial), request.rank, 0, plan::Builder::input());
  return builder.finish();
}

}  // namespace copse::algorithms
