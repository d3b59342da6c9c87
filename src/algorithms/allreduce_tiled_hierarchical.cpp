// allreduce, tiled and hierarchical: tiles inside each NUMA region, a tree over the regions for each tile, and the
// finished tiles taken inside each region: every link between regions is crossed once each way (HMPI 2.4, with the
// two-stage broadcast of 2.2).
// Cost: Q a + n c inside a region of Q ranks, ceil(log2 R) (a + n/Q (b + c)) over R regions, 2 a + n b back
// Wins: long messages over several NUMA regions
#include <algorithm>

#include "algorithms/patterns.hpp"

namespace copse::algorithms {

plan::Plan allreduce_tiled_hierarchical(const Request &request) {
  using plan::Builder;
  using plan::Operand;
  Builder builder = request.builder();
  const int rank = request.rank;
  const auto regions = groups_of(request, topology::Level::numa);
  std::size_t tiles = regions.front().size();  // the smallest region says how many; the others' surplus only takes
  for (const auto &region : regions) tiles = std::min(tiles, region.size());
  const Group &region = group_of(regions, rank);
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
    std::vector<int> column;
    for (const auto &each : regions) column.push_back(each[my_index]);
    shape::Tree tree = shape::unlinked(request.ranks, column.front());
    shape::link(tree, {shape::Form::k_nomial, request.radix}, column, 0);
    const int parent = tree.parent[static_cast<std::size_t>(rank)];
    const auto &children = tree.children[static_cast<std::size_t>(rank)];
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
