// allreduce, tiled and hierarchical: each rank of a NUMA region reduces one tile. A tree over the regions combines each tile,
// and the ranks of each region take the finished tiles from each other. Every link between regions is crossed once each way
// (HMPI 2.4, with the two-stage broadcast of 2.2).
// Cost: Q a + n c inside a region of Q ranks, ceil(log2 R) (a + n/Q (b + c)) over R regions, 2 a + n b back
// Wins: long messages over several NUMA regions
#include <algorithm>
#include <numeric>

#include "algorithms/patterns/patterns.hpp"

namespace copse::algorithms {

namespace {

using plan::Builder;
using plan::Operand;

// The place of a rank in its region. In each region, the rank at place i reduces tile i, if i is less than `tiles`.
struct Standing {
  const Groups& regions;
  const Group& region;
  std::size_t place, tiles;

  [[nodiscard]] bool reduces() const { return place < tiles; }
  [[nodiscard]] plan::Range tile(std::size_t number) const {
    return {static_cast<std::uint32_t>(number), 1, static_cast<std::uint32_t>(tiles)};
  }
  // Returns the places before `end`, without this rank's own.
  [[nodiscard]] std::vector<std::size_t> others(std::size_t end) const {
    std::vector<std::size_t> result(end);
    std::iota(result.begin(), result.end(), std::size_t{0});
    std::erase(result, place);
    return result;
  }
};

Standing standing_of(const Request& request) {
  const Groups& regions = request.shared->groups(topology::Level::numa);
  const Group& region = regions.of(request.rank);
  const auto place = std::find(region.begin(), region.end(), request.rank) - region.begin();
  return {regions, region, static_cast<std::size_t>(place), regions.smallest()};  // surplus ranks of other regions reduce nothing
}

// The ranks of other regions to which a rank is linked. They have the same place in their regions as this rank.
struct Links {
  int parent;
  std::vector<int> children;
};

Links links_over_regions(const Request& request, const Standing& here) {
  const auto& tree = request.shared->tree({"tiles of regions", {request.radix}}, [&] {
    const int count = static_cast<int>(here.regions.size());
    shape::Tree linked = shape::unlinked(count, 0);
    std::vector<int> all(here.regions.size());
    std::iota(all.begin(), all.end(), 0);
    shape::link(linked, {shape::Form::k_nomial, request.radix}, all, 0);
    return shape::SurveyedTree(std::move(linked));
  });
  const auto reducer_in = [&](int region) { return here.regions[static_cast<std::size_t>(region)][here.place]; };
  const std::size_t home_region = here.regions.index_of(request.rank);
  const int above = tree.parent[home_region];
  Links links{above == shape::kNoParent ? above : reducer_in(above), {}};
  for (const int below : tree.children[home_region]) links.children.push_back(reducer_in(below));
  return links;
}

// Reduces the tile of this rank. The tile goes up the tree of regions, comes down finished, and is given to the region.
// Returns the ranks that read it from this rank.
std::vector<int> reduce_tile(Builder& builder, const Request& request, const Standing& here) {
  const plan::Range mine = here.tile(here.place);
  const Operand home = Builder::output(mine);
  const Links links = links_over_regions(request, here);
  std::vector<int> takers = links.children;
  for (const std::size_t place : here.others(here.region.size())) takers.push_back(here.region[place]);

  std::vector<Fetch> items{[mine] { return Builder::input(mine); }};
  for (int member : here.region)
    if (member != request.rank)
      items.emplace_back([&builder, member, mine] { return builder.take_part(0, member, mine, builder.scratch(0, mine)); });
  // The last child has the fewest regions below it, and is ready first.
  for (auto child = links.children.rbegin(); child != links.children.rend(); ++child)
    items.emplace_back([&builder, from = *child, home, mine] { return builder.take(1, from, home, builder.scratch(0, mine)); });
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
  builder.copy(home, builder.take(2, links.parent, home, home));
  builder.give(2, takers, home);
  takers.push_back(links.parent);
  return takers;
}

}  // namespace

plan::Plan allreduce_tiled_hierarchical(const Request& request) {
  Builder builder = request.builder();
  const Standing here = standing_of(request);
  std::vector<int> reducers;  // the other ranks of this region that reduce a tile
  std::vector<plan::Range> parts;
  for (const std::size_t place : here.others(here.tiles)) {
    reducers.push_back(here.region[place]);
    parts.push_back(here.tile(place));
  }

  builder.loop();
  builder.share_input(0, reducers, parts);
  std::vector<int> readers = reducers;
  if (here.reduces()) {
    readers = reduce_tile(builder, request, here);
  } else {
    builder.lag(1);
  }
  for (const std::size_t place : here.others(here.tiles)) {
    const Operand home = Builder::output(here.tile(place));
    builder.copy(home, builder.take(2, here.region[place], home, home));
  }
  builder.reclaim(readers);
  return builder.finish();
}

}  // namespace copse::algorithms
