// broadcast, hierarchical and pipelined: the leaders take the message from the root, and each region takes it from its
// leader, which is the root in the root's own region (KNEM V; on a machine of one level, a tree of two levels, as in HMPI 2.2
// two-stage). The pipeline size is COPSE_FRAGMENT (KNEM VI.B settles for 256 KiB). The leaders' tree is flat, too, unlike in
// hierarchical_flat. KNEM does not cut the message for the ranks of the root's region, for which nobody waits. Here they take
// fragments like all others.
// Cost: (1 + n/m) (a + m b) with fragments of m bytes; of R regions, R-1 leaders and one region read the root's memory
// Wins: a few NUMA regions of many ranks: two steps deep, and every link between regions is crossed once
#include "algorithms/patterns/trees.hpp"

namespace copse::algorithms {

plan::Plan broadcast_hierarchical_pipelined(const Request& request) {
  plan::Builder builder = request.builder();
  builder.loop();
  send_down(builder, request.flat_levels_tree(), request.rank, 0, plan::Builder::input());
  return builder.finish();
}

}  // namespace copse::algorithms
