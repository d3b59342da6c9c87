// scatter, one way: the other ranks wait for the root. As long as its message is short, the root waits for nobody (Copse).
// Short blocks ride together with the root's publication. Longer ones are read out of the root's input, as in KNEM's scatter
// (KNEM IV.B). The root decides by the lengths of the blocks, and no other rank knows them all. So this is the scatterv that
// exchanges no sizes (docs/decisions/one-way.md). A rank of another node gets a message.
// Cost: a + P n b for short blocks; 2 a + n b for long ones
// Wins: blocks of different lengths, wherever all buffers can be reached
#include "algorithms/patterns/riding.hpp"

namespace copse::algorithms {

plan::Plan scatter_one_way(const Request& request) {
  using plan::Builder;
  plan::Builder builder = request.builder();
  builder.pack(static_cast<std::uint32_t>(request.ranks));
  std::vector<int> takers;  // the rank behind the root comes first
  for (int i = 1; i < request.ranks; ++i) takers.push_back((request.root + i) % request.ranks);
  const plan::Range mine = request.block(request.rank);
  if (request.rank != request.root) {
    const auto before = (request.rank - request.root - 1 + request.ranks) % request.ranks;
    take_one_way(builder, request.root, mine, std::span(takers).first(static_cast<std::size_t>(before)));
    return builder.finish();
  }
  give_one_way(builder, takers, [&](int taker) { return request.block(taker); });
  builder.copy(Builder::output(mine), Builder::input(mine));
  return builder.finish();
}

}  // namespace copse::algorithms
