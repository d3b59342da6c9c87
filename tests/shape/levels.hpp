// What the tests of hierarchies ask about levels.
#pragma once

#include "shape/hierarchy.hpp"

namespace copse::shape {

// Returns a hierarchy of every level that Copse knows, caches and cores included, all joined in the same way.
inline Hierarchy every_level(Arrangement arrangement) {
  Hierarchy hierarchy{{}, arrangement};
  for (const topology::Level level : topology::kAllLevels) hierarchy.layers.push_back({level, arrangement});
  return hierarchy;
}

// Returns the number of edges whose ends lie in different groups of the level. No tree has fewer than groups(placement,
// level) - 1.
inline int crossings(const Tree& tree, const topology::Placement& placement, topology::Level level) {
  int count = 0;
  for (std::size_t rank = 0; rank < tree.parent.size(); ++rank) {
    const int parent = tree.parent[rank];
    count += parent != kNoParent && placement[rank].at(level) != placement[static_cast<std::size_t>(parent)].at(level) ? 1 : 0;
  }
  return count;
}

}  // namespace copse::shape
