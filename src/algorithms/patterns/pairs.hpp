// The blocks of an alltoall: one for each pair of ranks.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "algorithms/registry.hpp"

namespace copse::algorithms {

// Returns the blocks that `from` has, in an alltoall, for the ranks of a group, as runs of neighbours.
[[nodiscard]] std::vector<plan::Range> pair_runs(const Request& request, int from, const Group& to);
// Returns the other ranks of this rank's node.
[[nodiscard]] std::vector<int> others_here(const plan::Builder& builder, const Request& request);
// Inside a loop, in an alltoall: shares this rank's input with the other ranks of its node. Each gets its own block, and the runs
// of blocks that `more` returns for it.
void share_here(plan::Builder& builder, const Request& request, int area,
                const std::function<std::vector<plan::Range>(int other)>& more);
// Inside a loop, in an alltoall: keeps this rank's own block, and takes its block from each of `others`, which have shared their
// inputs on `area`.
void take_blocks(plan::Builder& builder, const Request& request, int area, std::span<const int> others);
// Returns the operand for blocks that lie from index `index` on in a line, slot or scratch.
[[nodiscard]] plan::Operand placed(plan::Operand place, std::uint32_t index);
// Tells whether the operand lies in a line or slot.
[[nodiscard]] inline bool is_staged(const plan::Operand& place) {
  return place.space == plan::Space::line || place.space == plan::Space::slot;
}
// Returns placed() of a line or slot, and any other operand unchanged.
[[nodiscard]] plan::Operand placed_if_staged(const plan::Operand& operand, std::uint32_t index);

}  // namespace copse::algorithms
