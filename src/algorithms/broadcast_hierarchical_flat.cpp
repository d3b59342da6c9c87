// broadcast, hierarchical_flat: k-nomial trees down to the NUMA region, flat inside it (NUMACol 3, Table 1:
// hierarchical binomial+flat; pull is get, push is put; standard, static and dynamic fragmentation are
// COPSE_FRAGMENT=none, 32K and halves).
// Cost: as hierarchical down to the regions, then a + (r-1) n b for the r ranks of a region, from a shared cache
// Wins: many ranks in all, but few in each region; the default for more than 8 ranks with a processor each
#include "algorithms/patterns/trees.hpp"

namespace copse::algorithms {

plan::Plan broadcast_hierarchical_flat(const Request& request) {
  plan::Builder builder = request.builder();
  builder.loop();
  send_down(builder, request.machine_tree(shape::Form::flat), request.rank, 0, plan::Builder::input());
  return builder.finish();
}

}  // namespace copse::algorithms
