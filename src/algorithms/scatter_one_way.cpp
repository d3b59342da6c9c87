// scatter, one way: the other ranks wait for the root. As long as its message is short, the root waits for nobody (Copse).
// Short blocks ride together with the root's publication. Longer ones are read out of the root's input, as in KNEM's scatter
// (KNEM IV.B). The root decides by the lengths of the blocks, and no other rank knows them all. So this is the scatterv that
// exchanges no sizes (docs/decisions/one-way.md). Over several nodes it is scatter, flat.
// Cost: a + P n b for short blocks; 2 a + n b for long ones
// Wins: blocks of different lengths, wherever all buffers can be reached
#include "algorithms/patterns/blocks.hpp"

namespace copse::algorithms {

plan::Plan scatter_one_way(const Request& request) {
  using plan::Builder;
  plan::Builder builder = request.builder();
  builder.pack(static_cast<std::uint32_t>(request.ranks));
  if (!request.shared->nodes().empty()) {  // all blocks ride together, so they must reach every rank
    scatter_down(builder, request.ranks_tree(shape::Form::flat), request.rank, 0);
    return builder.finish();
  }
  const plan::Range mine = request.block(request.rank);
  const int first = (request.root + 1) % request.ranks;
  if (request.rank != request.root) {
    const int before = (request.rank - first + request.ranks) % request.ranks;
    builder.take_ride(request.root, mine, static_cast<std::uint32_t>(before));
    return builder.finish();
  }
  const plan::Range given = request.block(first, request.ranks - 1);
  if (request.ranks > 1) builder.ride(request.others(), {&given, 1});
  builder.copy(Builder::output(mine), Builder::input(mine));
  return builder.finish();
}

}  // namespace copse::algorithms
