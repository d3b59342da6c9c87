// broadcast, hierarchical and pipelined: the leaders take the message from the root, each region from its leader, and the
// root's region from the root (KNEM V; on a machine of one level, a tree of two levels, as in HMPI 2.2 two-stage). The
// pipeline size is COPSE_FRAGMENT (KNEM VI.B settles for 256 KiB). Unlike in hierarchical_flat, the leaders' tree is flat,
// too. KNEM does not cut the message for the ranks of the root's region, for which nobody waits. Here they take fragments
// like all others.
// Cost: (1 + n/m) (a + m b) with fragments of m bytes; of R regions, R-1 leaders and a region read the root's memory
// Wins: a few NUMA regions of many ranks: two steps deep, and every link between regions is crossed once
#include "algorithms/patterns/patterns.hpp"

namespace copse::algorithms {

plan::Plan broadcast_hierarchical_pipelined(const Request &request) {
  plan::Builder builder = request.builder();
  builder.loop();
  send_down(builder, request.machine_tree(shape::Form::flat, shape::Form::flat), request.rank, 0,
            plan::Builder::input());
  return builder.finish();
}

}  // namespace copse::algorithms
