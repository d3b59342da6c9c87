// allreduce, tiled and hierarchical: tiles inside each NUMA region, a tree over the regions for each tile, and the finished
// tiles taken inside each region. Every link between regions is crossed once each way (HMPI 2.4, with the two-stage broadcast
// of 2.2).
// Cost: Q a + n c inside a region of Q ranks, ceil(log2 R) (a + n/Q (b + c)) over R regions, 2 a + n b back
// Wins: long messages over several NUMA regions
#include <algorithm>
#include <numeric>

#include "algorithms/patterns.hpp"

namespace copse::algorithms {

plan::Plan allreduce_tiled_hierarchical(const Request &request) {
  using plan::Builder;
  using plan::Operand;
  Builder builder = request.builder();
  const int rank = request.rank;
  const Groups &regions = request.shared->groups(topology::Level::numa);
  std::size_t tiles = regions.front().size();  // the smallest region says how many; the others' surplus only takes
  for (const auto &region : regions) tiles = std::min(tiles, region.size());
  const Group &region = regions.of(rank);
  const auto my_index = static_cast<std::size_t>(std::find(region.begin(), region.end(), rank) - region.begin());
  const auto tile = [&](std::size_t index) {
    return plan::Range{static_cast<std::uint32_t>(index), 1, static_cast<std::uint32_t>(tiles)};
  };

  builder.loop();
  std::vector<int> reducers;  // of my region, but not I
  std::vector<plan::Range> parts;
  std::vector<int> takers;  // of what I finish
  for (std::size_t index = 0; index < region.size(); ++index) {
    if (index == my_index) continue;
    takers.push_back(region[index]);
    if (index >= tiles) continue;
    reducers.push_back(region[index]);
    parts.push_back(tile(index));
  }
  builder.share_input(0, reducers, parts);

  std::vector<int> readers = reducers;
  if (my_index < tiles) {
    const plan::Range mine = tile(my_index);
    // Over regions, for the ranks that have my index in theirs.
    const auto &tree = request.shared->tree({"tiles of regions", {request.radix}}, [&] {
      const int count = static_cast<int>(regions.size());
      shape::Tree linked = shape::unlinked(count, 0);
      std::vector<int> all(regions.size());
      std::iota(all.begin(), all.end(), 0);
      shape::link(linked, {shape::Form::k_nomial, request.radix}, all, 0);
      return shape::SurveyedTree(std::move(linked));
    });
    const auto mine_in = [&](int number) { return regions[static_cast<std::size_t>(number)][my_index]; };
    const std::size_t home_region = regions.index_of(rank);
    const int above = tree.parent[home_region];
    const int parent = above == shape::kNoParent ? above : mine_in(above);
    std::vector<int> children;
    for (const int below : tree.children[home_region]) children.push_back(mine_in(below));
    takers.insert(takers.begin(), children.begin(), children.end());
    readers = takers;

    const Operand home = Builder::output(mine);
    std::vector<Fetch> items{[mine] { return Builder::input(mine); }};
    for (int member : region)
      if (member != rank)
        items.emplace_back([&builder, member, mine] {
          return builder.take_part(0, member, mine, builder.scratch(0, mine));
        });
    for (int child : children)
      items.emplace_back([&builder, child, home, mine] {
        return builder.take(1, child, home, builder.scratch(0, mine));
      });
    if (parent == shape::kNoParent) {
      const Operand result = builder.open(2, takers, home);
      fold(builder, result, items, 0);
      builder.copy(home, result);
      builder.post(2, takers, result);
      builder.lag(1);
    } else {
      const std::vector<int> up{parent};
      readers.push_back(parent);
      const Operand partial = builder.open(1, up, home);
      fold(builder, partial, items, 0);
      builder.post(1, up, partial);
      builder.lag(1);
      builder.copy(home, builder.take(2, parent, home, home));
      builder.give(2, takers, home);
    }
  } else {
    builder.lag(1);
  }
  for (std::size_t index = 0; index < tiles; ++index) {
    if (index == my_index) continue;
    const Operand home = Builder::output(tile(index));
    builder.copy(home, builder.take(2, region[index], home, home));
  }
  builder.reclaim(readers);
  return builder.finish();
}

}  // namespace copse::algorithms
