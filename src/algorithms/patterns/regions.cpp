// Tiles that NUMA regions reduce by themselves.
#include "algorithms/patterns/regions.hpp"

#include <algorithm>
#include <numeric>

#include "algorithms/patterns/sums.hpp"

namespace copse::algorithms {

using plan::Builder;
using plan::Operand;

std::vector<std::size_t> InRegion::others(std::size_t end) const {
  std::vector<std::size_t> result(end);
  std::iota(result.begin(), result.end(), std::size_t{0});
  std::erase(result, place);
  return result;
}

InRegion in_region_of(const Request& request) {
  const Groups& regions = request.shared->groups(topology::Level::numa);
  const Group& region = regions.of(request.rank);
  const auto place = std::find(region.begin(), region.end(), request.rank) - region.begin();
  return {regions, region, static_cast<std::size_t>(place), regions.smallest()};
}

Links links_over_regions(const Request& request, const InRegion& here, std::size_t root_region) {
  const int root = static_cast<int>(root_region);
  const auto& tree = request.shared->tree({"tiles of regions", {request.radix, root}}, [&] {
    const int count = static_cast<int>(here.regions.size());
    shape::Tree linked = shape::unlinked(count, root);
    std::vector<int> all(here.regions.size());
    std::iota(all.begin(), all.end(), 0);
    shape::link(linked, {shape::Form::k_nomial, request.radix}, all, root_region);
    return shape::SurveyedTree(std::move(linked));
  });
  const auto reducer_in = [&](int region) { return here.regions[static_cast<std::size_t>(region)][here.place]; };
  const std::size_t home_region = here.regions.index_of(request.rank);
  const int above = tree.parent[home_region];
  Links links{above == shape::kNoParent ? above : reducer_in(above), {}};
  for (const int below : tree.children[home_region]) links.children.push_back(reducer_in(below));
  return links;
}

std::vector<int> share_in_region(Builder& builder, const InRegion& here) {
  std::vector<int> reducers;
  std::vector<plan::Range> parts;
  for (const std::size_t place : here.others(here.tiles)) {
    reducers.push_back(here.region[place]);
    parts.push_back(here.tile(place));
  }
  builder.share_input(0, reducers, parts);
  return reducers;
}

std::vector<Fetch> parts_in_region(Builder& builder, const Request& request, const InRegion& here, const Links& links,
                                   Operand partial) {
  const plan::Range mine = partial.range;
  std::vector<Fetch> items{[mine] { return Builder::input(mine); }};
  for (int member : here.region)
    if (member != request.rank)
      items.emplace_back([&builder, member, mine] { return builder.take_part(0, member, mine, builder.scratch(0, mine)); });
  // The last child has the fewest regions below it, and is ready first.
  for (auto child = links.children.rbegin(); child != links.children.rend(); ++child)
    items.emplace_back(
        [&builder, from = *child, partial] { return builder.take(1, from, partial, builder.scratch(0, partial.range)); });
  return items;
}

}  // namespace copse::algorithms
