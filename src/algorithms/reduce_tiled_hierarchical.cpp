// reduce, tiled and hierarchical: each rank of a NUMA region reduces one tile. A tree over the regions, which begins at the root's,
// combines each tile, and the root takes the tiles from the ranks of its region. Every link between regions is crossed once
// (HMPI 2.4; 2.6 makes the reduce of its first phase, with memory for the partial results).
// Cost: Q a + n c inside a region of Q ranks, ceil(log2 R) (a + n/Q (b + c)) over R regions, a + (Q-1)/Q n b to the root
// Wins: long messages over several NUMA regions
#include "algorithms/patterns/regions.hpp"
#include "algorithms/patterns/tiles.hpp"

namespace copse::algorithms {

plan::Plan reduce_tiled_hierarchical(const Request& request) {
  using plan::Builder;
  using plan::Operand;
  Builder builder = request.builder();
  builder.keep_in_slots();
  const InRegion here = in_region_of(request);
  const std::vector<int> to{request.root};
  const bool is_root = request.rank == request.root;
  const auto kept = [&](std::size_t number) { return Builder::in_slot(here.tile(number)); };

  builder.loop();
  const std::vector<int> reducers = share_in_region(builder, here);
  if (here.reduces()) {
    const Links links = links_over_regions(request, here, here.regions.index_of(request.root));
    const std::vector<Fetch> items = parts_in_region(builder, request, here, links, kept(here.place));
    const bool is_last = links.parent == shape::kNoParent;  // in the root's region
    const std::vector<int> up = is_last ? to : std::vector{links.parent};
    // The root's input may be its output. Nobody else reads this tile of it.
    const Operand result = is_root ? Builder::output(here.tile(here.place)) : builder.open(is_last ? 2 : 1, up, kept(here.place));
    fold(builder, result, items, 0);
    if (!is_root) builder.post(is_last ? 2 : 1, up, result);
  }
  if (is_root) {
    std::vector<Finished> tiles;
    for (const std::size_t place : here.others(here.tiles)) tiles.push_back({here.region[place], kept(place)});
    take_finished(builder, 2, tiles);
  }
  builder.reclaim_input(reducers);
  return builder.finish();
}

}  // namespace copse::algorithms
