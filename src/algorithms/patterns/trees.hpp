// Values go down and up a tree.
#pragma once

#include <span>

#include "algorithms/registry.hpp"

namespace copse::algorithms {

// The number of fragments that a rank may send up before it waits for the first to come down. This is enough to overlap the
// two ways.
inline constexpr int kLag = 2;

// Inside a loop: sends the fragment down the tree, from the root's `source` to every other rank's output, on area `area`.
// Buffers that others may still read are reclaimed at the end of the caller's plan.
void send_down(plan::Builder& builder, const shape::SurveyedTree& tree, int rank, int area, plan::Operand source,
               plan::Range range = {});

// Inside a loop: combines every rank's input up the tree. The result lands in the output of rank `to`, which is the tree's
// root or gets the result from it (NUMACol 3). On the way, partial results lie in lines or slots, because other ranks have no
// output to spare. Uses area `area` and, for the last step from the tree's root, `area` + 1.
void combine_up(plan::Builder& builder, const shape::SurveyedTree& tree, int rank, int area, int to);
// Like combine_up(), but the result stays where the tree's root has opened it for `readers`, on area `area` + 1, to be posted.
// Returns what this rank then has of `range`.
plan::Operand combine_in_root(plan::Builder& builder, const shape::SurveyedTree& tree, int rank, int area,
                              std::span<const int> readers, plan::Range range);

}  // namespace copse::algorithms
