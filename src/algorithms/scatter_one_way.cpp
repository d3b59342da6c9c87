// scatter, one way: the others wait for the root, and the root for nobody, as long as its message is short (Copse). Short
// blocks ride together with the root's publication. Longer ones are read out of the root's input, as in KNEM's scatter
// (KNEM IV.B). The root decides by the lengths that it alone knows all of: this is the scatterv that exchanges no sizes
// (docs/decisions/one-way.md).
// Cost: a + P n b for short blocks; 2 a + n b for long ones
// Wins: with blocks of different lengths, wherever all buffers can be reached
#include "algorithms/patterns.hpp"

namespace copse::algorithms {

plan::Plan scatter_one_way(const Request &request) {
  using plan::Builder;
  plan::Builder builder = request.builder();
  const plan::Range mine = request.block(request.rank), given = request.block((request.root + 1) % request.ranks, request.ranks - 1);
  if (request.rank != request.root) {
    builder.take_ride(request.root, Builder::input(mine), Builder::output(mine), given);
    return builder.finish();
  }
  const std::vector<int> others = request.others();
  std::vector<plan::Range> parts;
  for (const int other : others) parts.push_back(request.block(other));
  builder.ride(others, parts, given);
  builder.copy(Builder::output(mine), Builder::input(mine));
  return builder.finish();
}

}  // namespace copse::algorithms
