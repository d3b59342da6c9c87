// gather, hierarchical_flat: blocks go up k-nomial trees over nodes, packages and NUMA regions, and a flat tree inside each
// region (NUMACol 3, Table 1: hierarchical binomial+flat). Branches may travel in pieces, as in hierarchical.
// Cost: as hierarchical over the regions, and a + (r-1) n b for the r ranks of a region
// Wins: small blocks on many ranks in all, but few in each region
#include "algorithms/patterns/blocks.hpp"

namespace copse::algorithms {

plan::Plan gather_hierarchical_flat(const Request& request) {
  plan::Builder builder = request.builder();
  builder.loop();
  builder.pack(static_cast<std::uint32_t>(request.ranks));
  gather_up(builder, request.machine_tree(shape::Form::flat), request.rank, 0);
  return builder.finish();
}

}  // namespace copse::algorithms
