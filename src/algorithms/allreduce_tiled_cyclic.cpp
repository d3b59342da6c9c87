// allreduce, tiled and cyclic: like tiled, but every rank goes round the inputs, beginning with its own. So ranks that keep
// pace never read the same input at the same time (Mamidala et al. 2008, as HMPI 3.2 describes it).
// Cost: that of tiled: 2 a + n c + (P-1)/P n b by get and put, with less contention
// Wins: long messages of many ranks that share few memories, with an operator that commutes
#include <algorithm>

#include "algorithms/patterns/tiles.hpp"

namespace copse::algorithms {

plan::Plan allreduce_tiled_cyclic(const Request& request) {
  plan::Builder builder = request.builder();
  builder.loop();
  auto items = share_tiles(builder, request, 0, request.rank);
  std::rotate(items.begin(), items.begin() + request.rank, items.end());
  finish_tiles(builder, request, items, 0);
  return builder.finish();
}

}  // namespace copse::algorithms
