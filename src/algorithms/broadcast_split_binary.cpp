// broadcast, split_binary: the ranks but the root form two binary trees; one half of the message goes down each, then
// pairs of a rank in either tree exchange halves. Of an even number of ranks one has no pair, and gets the other half
// from the root (Pjesivac-Grbovic et al. 2007).
// Cost: (log2(P+1) - 1 + n/m) (2 a + m b) with fragments of m bytes: every rank is read by two children and its pair
// Wins: messages of tens to hundreds of KiB on many ranks, between trees and the chain
#include <algorithm>
#include <array>

#include "algorithms/patterns.hpp"

namespace copse::algorithms {

plan::Plan broadcast_split_binary(const Request &request) {
  using plan::Builder;
  std::array<std::vector<int>, 2> sides;  // the left one has the odd rank
  for (int i = 1; i < request.ranks; ++i) sides[i > request.ranks / 2].push_back((request.root + i) % request.ranks);
  const auto half = [](std::size_t side) { return plan::Range{static_cast<std::uint32_t>(side), 1, 2}; };

  Builder builder = request.builder();
  builder.loop();
  if (request.rank == request.root) {
    for (std::size_t side : {0, 1}) {
      std::vector<int> takers;
      if (!sides[side].empty()) takers.push_back(sides[side].front());
      if (side == 1 && sides[0].size() > sides[1].size()) takers.push_back(sides[0].back());
      builder.give(static_cast<int>(side), takers, Builder::input(half(side)));
      builder.reclaim(takers);
    }
    return builder.finish();
  }

  const auto is_mine = [&](const std::vector<int> &side) {
    return std::find(side.begin(), side.end(), request.rank) != side.end();
  };
  const std::size_t mine = is_mine(sides[0]) ? 0 : 1, other = 1 - mine;
  const auto &side = sides[mine];
  shape::Tree tree = shape::unlinked(request.ranks, side.front());
  shape::link(tree, {shape::Form::k_ary, 2}, side, 0);
  const auto me = static_cast<std::size_t>(request.rank);
  const auto index = static_cast<std::size_t>(std::find(side.begin(), side.end(), request.rank) - side.begin());
  const bool paired = index < sides[other].size();
  const int pair = paired ? sides[other][index] : request.root;

  const auto take = [&](std::size_t area, int from) {
    const plan::Operand home = Builder::output(half(area));
    const plan::Operand as = from == request.root ? Builder::input(half(area)) : home;
    builder.copy(home, builder.take(static_cast<int>(area), from, as, home));
  };
  take(mine, tree.parent[me] == shape::kNoParent ? request.root : tree.parent[me]);
  std::vector<int> takers = tree.children[me];
  if (paired) takers.push_back(pair);
  builder.give(static_cast<int>(mine), takers, Builder::output(half(mine)));
  builder.lag(1);
  take(other, pair);
  builder.reclaim(takers);
  return builder.finish();
}

}  // namespace copse::algorithms
