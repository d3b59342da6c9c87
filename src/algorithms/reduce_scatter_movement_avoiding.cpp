// reduce_scatter, movement-avoiding and socket-aware (YHCCL: Peng et al., "Optimizing MPI Collectives on Shared Memory
// Multi-Cores", SC'23): partial blocks go round the ranks of each socket and meet the input of each rank in place. The blocks
// that end with a rank belong to the ranks at its position in all sockets. Each of these ranks combines what all sockets have
// of its block.
// Cost: (r-1) a + P n (b + c) in sockets of r ranks, and a + (s-1) n (b + c) across s of them, n being a block
// Wins: large blocks over several sockets, staged
#include "algorithms/patterns/sockets.hpp"

namespace copse::algorithms {

plan::Plan reduce_scatter_movement_avoiding(const Request& request) {
  plan::Builder builder = request.builder();
  builder.loop();
  reduce_scatter_sockets(builder, request, plan::Space::slot, plan::Builder::output(request.block(request.rank)));
  builder.reclaim(request.others());
  return builder.finish();
}

}  // namespace copse::algorithms
