// allreduce, tiled: rank i reduces tile i of every fragment out of all inputs and gives it to all ranks. This is the naive
// tiled-reduce of HMPI 3.2, over all ranks wherever they sit, with a one-stage broadcast of the tiles. Each rank begins with
// its own input and adds the inputs of the lower ranks, going down, and then those of the higher ranks, going up. So rank
// order is kept. The strips of HMPI 2 are fragments.
// Cost: 2 a + n (b + c) + 2 (P-1)/P n b through slots; 2 a + n c + (P-1)/P n b by get and put
// Wins: long messages inside a NUMA region; operators that do not commute, anywhere
#include "algorithms/patterns/tiles.hpp"

namespace copse::algorithms {

plan::Plan allreduce_tiled(const Request& request) {
  plan::Builder builder = request.builder();
  builder.loop();
  const auto items = share_tiles(builder, request, 0, request.rank);
  finish_tiles(builder, request, items, static_cast<std::size_t>(request.rank));
  return builder.finish();
}

}  // namespace copse::algorithms
