// Blocks of a message go up and down a tree, or from each rank to all others.
#pragma once

#include "algorithms/registry.hpp"

namespace copse::algorithms {

// Inside a loop, in a message made of blocks: the blocks of all ranks go up the tree to the output of its root, or down it
// from the root's input. A rank packs the blocks of its branch in a line or slot or, under get, in the scratch. They are
// packed in the order of ranks, with gaps where blocks of other branches come between, so branches of neighbours cost least.
// Leaves give their input and take their block directly. Unless the tree is flat for every root, the caller of gather_up
// packs all blocks, because how far a branch reaches depends on the root.
void gather_up(plan::Builder& builder, const shape::SurveyedTree& tree, int rank, int area);
void scatter_down(plan::Builder& builder, const shape::SurveyedTree& tree, int rank, int area);

// Inside a loop: shares this rank's input, so that every other rank can take its block by take_part().
void share_blocks(plan::Builder& builder, const Request& request, int area);

}  // namespace copse::algorithms
