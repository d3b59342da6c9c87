// Trees that end where a node, or another group, ends.
#pragma once

#include "algorithms/registry.hpp"

namespace copse::algorithms {

// Returns the tree without its edges between different groups of the level.
[[nodiscard]] shape::Tree cut_between(shape::Tree tree, const Request& request, topology::Level level);
// These return trees inside each node, without links between nodes. Those of node_trees() go over the machine's levels. They
// begin at `root` in its node, and at the leader in any other. Those of below_leaders() are flat and begin at the leaders.
[[nodiscard]] const shape::SurveyedTree& node_trees(Request request, int root);
[[nodiscard]] const shape::SurveyedTree& below_leaders(const Request& request);

}  // namespace copse::algorithms
