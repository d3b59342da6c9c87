// Tiles that NUMA regions reduce by themselves (HMPI 2.4). In each region, the rank at place i reduces tile i. A tree over the
// regions combines what the ranks of one place have.
#pragma once

#include <vector>

#include "algorithms/patterns/sums.hpp"

namespace copse::algorithms {

// The place of a rank in its region. There are as many tiles as the smallest region has ranks, and surplus ranks of other regions
// reduce nothing.
struct InRegion {
  const Groups& regions;
  const Group& region;
  std::size_t place, tiles;

  [[nodiscard]] bool reduces() const { return place < tiles; }
  [[nodiscard]] plan::Range tile(std::size_t number) const {
    return plan::chunks_from(static_cast<int>(number), 1, static_cast<int>(tiles));
  }
  // Returns the places before `end`, without this rank's own.
  [[nodiscard]] std::vector<std::size_t> others(std::size_t end) const;
};
[[nodiscard]] InRegion in_region_of(const Request& request);

// The ranks of other regions to which a rank is linked. They have the same place in their regions as this rank.
struct Links {
  int parent;
  std::vector<int> children;
};
[[nodiscard]] Links links_over_regions(const Request& request, const InRegion& here, std::size_t root_region);

// Inside a loop: every rank shares its input with the reducers of its region, on area 0. Returns the reducers.
std::vector<int> share_in_region(plan::Builder& builder, const InRegion& here);
// Returns what a reducer folds: its own input first, then what its region has shared, then what comes from the regions below, on
// area 1. At the ranks of the regions below, that value lies in `partial`.
[[nodiscard]] std::vector<Fetch> parts_in_region(plan::Builder& builder, const Request& request, const InRegion& here,
                                                 const Links& links, plan::Operand partial);

}  // namespace copse::algorithms
