// allreduce, movement-avoiding and socket-aware (YHCCL: Peng et al., "Optimizing MPI Collectives on Shared Memory
// Multi-Cores", SC'23): partial tiles go round the ranks of each socket and meet the input of each rank in place, so only the
// first rank's input is copied. Then the ranks that have the same position in their sockets combine the parts of all sockets,
// one tile each. All ranks take the finished tiles from where they lie. The flat form, with one ring of all ranks, is ring
// through slots.
// Cost: (r-1) a + n (b + c) in sockets of r ranks, a + (s-1)/P n c across s of them, a + n b back
// Wins: long messages over several sockets, staged: as few copies as the ring, in fewer rounds
#include "algorithms/patterns/sockets.hpp"
#include "algorithms/patterns/tiles.hpp"

namespace copse::algorithms {

plan::Plan allreduce_movement_avoiding(const Request& request) {
  plan::Builder builder = request.builder();
  builder.loop();
  const plan::Operand result = builder.open(1, request.others(), plan::Builder::output(request.block(request.rank)));
  reduce_scatter_sockets(builder, request, plan::Space::output, result);
  give_tile(builder, request, result);
  return builder.finish();
}

}  // namespace copse::algorithms
