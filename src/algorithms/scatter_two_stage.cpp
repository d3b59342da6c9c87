// scatter, two_stage: the root scatters to one rank of each node. Those ranks scatter to one rank of each NUMA region, and
// the ranks of a region take their blocks from that rank (HMPI 2.6: over the node masters into temporary buffers, then inside
// each node in two stages as in 2.2; flat at every stage). With one region per node it is HMPI's one-stage scatter; on one
// node of one region it is flat.
// Cost: 3 a + (P-r) n b + (r-s) n b + (s-1) n b, r and s being the ranks of a node and of a region
// Wins: few nodes or regions of many ranks: three steps deep, and each boundary is crossed once
#include "algorithms/patterns/blocks.hpp"

namespace copse::algorithms {

plan::Plan scatter_two_stage(const Request& request) {
  plan::Builder builder = request.builder();
  builder.loop();
  scatter_down(builder, request.two_stage_tree(), request.rank, 0);
  return builder.finish();
}

}  // namespace copse::algorithms
