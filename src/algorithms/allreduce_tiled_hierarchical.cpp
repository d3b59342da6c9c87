// allreduce, tiled and hierarchical: each rank of a NUMA region reduces one tile. A tree over the regions combines each tile,
// and the ranks of each region take the finished tiles from each other. Every link between regions is crossed once each way
// (HMPI 2.4; the tiles come down the tree by which they went up, and not in the two stages of 2.2).
// Cost: Q a + n c inside a region of Q ranks, ceil(log2 R) (a + n/Q (b + c)) over R regions, 2 a + n b back
// Wins: long messages over several NUMA regions
#include "algorithms/patterns/regions.hpp"
#include "algorithms/patterns/sums.hpp"

namespace copse::algorithms {

namespace {

using plan::Builder;
using plan::Operand;

// Reduces the tile of this rank. The tile goes up the tree of regions, comes down finished, and is given to the region.
// Returns the ranks that read it from this rank.
std::vector<int> reduce_tile(Builder& builder, const Request& request, const InRegion& here) {
  const plan::Range mine = here.tile(here.place);
  const Operand home = Builder::output(mine);
  const Links links = links_over_regions(request, here, 0);
  std::vector<int> takers = links.children;
  for (const std::size_t place : here.others(here.region.size())) takers.push_back(here.region[place]);

  const std::vector<Fetch> items = parts_in_region(builder, request, here, links, home);
  if (links.parent == shape::kNoParent) {
    const Operand result = builder.open(2, takers, home);
    fold(builder, result, items, 0);
    builder.copy(home, result);
    builder.post(2, takers, result);
    builder.lag(1);
    return takers;
  }
  const std::vector<int> up{links.parent};
  const Operand partial = builder.open(1, up, home);
  fold(builder, partial, items, 0);
  builder.post(1, up, partial);
  builder.lag(1);
  builder.bring(2, links.parent, home, home);
  builder.give(2, takers, home);
  takers.push_back(links.parent);
  return takers;
}

}  // namespace

plan::Plan allreduce_tiled_hierarchical(const Request& request) {
  Builder builder = request.builder();
  const InRegion here = in_region_of(request);
  builder.loop();
  std::vector<int> readers = share_in_region(builder, here);
  if (here.reduces()) {
    readers = reduce_tile(builder, request, here);
  } else {
    builder.lag(1);
  }
  for (const std::size_t place : here.others(here.tiles)) {
    const Operand home = Builder::output(here.tile(place));
    builder.bring(2, here.region[place], home, home);
  }
  builder.reclaim(readers);
  return builder.finish();
}

}  // namespace copse::algorithms
