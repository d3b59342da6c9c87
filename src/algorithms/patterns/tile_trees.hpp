// Tiles of a fragment go down and up trees whose subtrees are intervals of ranks.
#pragma once

#include <vector>

#include "algorithms/registry.hpp"

namespace copse::algorithms {

// The tiles that each rank has: an unbroken run that includes its own tile.
using Held = std::vector<plan::Range>;

// Inside a loop: tiles go down the tree, from the root's `source` to the outputs of the other ranks. Every subtree is an
// interval of ranks and gets the tiles of its ranks. Uses area `area`. Returns the tiles that every rank then has.
[[nodiscard]] Held scatter_tiles(plan::Builder& builder, const shape::SurveyedTree& tree, int rank, int area, plan::Operand source);

// Inside a loop: finished tiles go up a tree whose subtrees are intervals of ranks. Tile i of the fragment belongs to rank i. This
// rank's tile lies in `mine`: at the root in its output, elsewhere in a slot opened for the parent. Uses area `area`.
void gather_tiles_up(plan::Builder& builder, const shape::SurveyedTree& tree, int rank, int area, plan::Operand mine);

}  // namespace copse::algorithms
