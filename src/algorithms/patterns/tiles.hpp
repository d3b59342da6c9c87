// Tiles of a message, each of which one rank combines. They go to this rank, and the results go to all others.
#pragma once

#include <span>
#include <vector>

#include "algorithms/patterns/sums.hpp"

namespace copse::algorithms {

// Inside a loop: every rank shares its input with all others, tile by tile. Returns every rank's part of this rank's tile, in
// rank order, for a fold that starts with the part of rank `first`. That part has a scratch of its own, because it waits for
// the second part, which may also come over the wire.
[[nodiscard]] std::vector<Fetch> share_tiles(plan::Builder& builder, const Request& request, int area, int first);

// Inside a loop, at the end: every rank folds `items`, the parts of its tile, and gives the result to all others. Uses area
// 1.
void finish_tiles(plan::Builder& builder, const Request& request, std::span<const Fetch> items, std::size_t own);
// Like finish_tiles(), where the folded tile lies in `result` already, which has been opened for all others.
void give_tile(plan::Builder& builder, const Request& request, plan::Operand result);

// Inside a loop, at the end of a reduction: takes finished tiles from others. Each is given as the operand says.
struct Finished {
  int rank;
  plan::Operand tile;
};
void take_finished(plan::Builder& builder, int area, std::span<const Finished> tiles);

}  // namespace copse::algorithms
