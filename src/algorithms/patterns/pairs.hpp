// The blocks of an alltoall: one for each pair of ranks.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "algorithms/registry.hpp"

namespace copse::algorithms {

// Returns the blocks that `from` has, in an alltoall, for some ranks in ascending order, as runs of neighbours.
[[nodiscard]] std::vector<plan::Range> pair_runs(const Request& request, int from, std::span<const int> to);
// Returns the other ranks of this rank's node.
[[nodiscard]] std::vector<int> others_here(const plan::Builder& builder, const Request& request);
// Inside a loop, in an alltoall: shares this rank's input with other ranks of its node. Each gets the runs of blocks that
// `runs_for` returns for it. Returns the ranks that get any.
std::vector<int> share_here(plan::Builder& builder, const Request& request, int area,
                            const std::function<std::vector<plan::Range>(int other)>& runs_for);
// Inside a loop, in an alltoall: takes this rank's block from each of `others`, which have shared their inputs on `area`. With
// `keeps_own`, the rank also has a block for itself.
void take_blocks(plan::Builder& builder, const Request& request, int area, std::span<const int> others, bool keeps_own = true);
// Returns the operand for blocks that lie from index `index` on in a line, slot or scratch.
[[nodiscard]] plan::Operand placed(plan::Operand place, std::uint32_t index);
// Tells whether the operand lies in a line or slot.
[[nodiscard]] inline bool is_staged(const plan::Operand& place) {
  return place.space == plan::Space::line || place.space == plan::Space::slot;
}
// Returns placed() of a line or slot, and any other operand unchanged.
[[nodiscard]] plan::Operand placed_if_staged(const plan::Operand& operand, std::uint32_t index);

}  // namespace copse::algorithms
