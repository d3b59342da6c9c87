// broadcast, hierarchical: k-nomial trees over every level of the machine (NUMACol 3, Table 1: hierarchical binomial;
// pull is get, push is put; standard, static and dynamic fragmentation are COPSE_FRAGMENT=none, 32K and halves).
// Cost: sum of ceil(log_k g) (k-1) (a + n b) over the L levels, g being a level's groups in one of the level above
// Wins: several NUMA regions or nodes of many ranks; each boundary between two groups is crossed once
#include "algorithms/patterns/trees.hpp"

namespace copse::algorithms {

plan::Plan broadcast_hierarchical(const Request& request) {
  plan::Builder builder = request.builder();
  builder.loop();
  send_down(builder, request.machine_tree(shape::Form::k_nomial), request.rank, 0, plan::Builder::input());
  return builder.finish();
}

}  // namespace copse::algorithms
