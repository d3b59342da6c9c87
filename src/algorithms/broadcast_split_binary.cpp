// broadcast, split_binary: all ranks but the root form two binary trees. One half of the message goes down each tree. Then
// pairs of ranks, one from each tree, exchange halves. If the number of ranks is even, one rank has no pair and gets the
// other half from the root (Pjesivac-Grbovic et al. 2007).
// Cost: (log2(P+1) - 1 + n/m) (2 a + m b) with fragments of m bytes: every rank is read by two children and its pair
// Wins: messages of tens to hundreds of KiB on many ranks: longer than for trees, shorter than for the chain
#include "algorithms/registry.hpp"

namespace copse::algorithms {

plan::Plan broadcast_split_binary(const Request& request) {
  using plan::Builder;
  const int ranks = request.ranks;
  // The ranks after the root, in their order, form two sides. If their number is odd, the first side has one rank more.
  const std::size_t sizes[] = {static_cast<std::size_t>(ranks / 2), static_cast<std::size_t>(ranks - 1 - ranks / 2)};
  const auto member = [&](std::size_t side, std::size_t index) {
    return (request.root + 1 + static_cast<int>(side * sizes[0] + index)) % ranks;
  };
  const auto half = [](std::size_t side) { return plan::Range{static_cast<std::uint32_t>(side), 1, 2}; };

  Builder builder = request.builder();
  builder.loop();
  if (request.rank == request.root) {
    for (std::size_t side : {0, 1}) {
      std::vector<int> takers;
      if (sizes[side] > 0) takers.push_back(member(side, 0));
      if (side == 1 && sizes[0] > sizes[1]) takers.push_back(member(0, sizes[0] - 1));
      builder.give(static_cast<int>(side), takers, Builder::input(half(side)));
      builder.reclaim(takers);
    }
    return builder.finish();
  }

  const auto position = static_cast<std::size_t>((request.rank + ranks - request.root - 1) % ranks);
  const std::size_t mine = position < sizes[0] ? 0 : 1, other = 1 - mine, index = position - mine * sizes[0];
  const auto& tree = request.shared->tree({"split binary", {request.root, static_cast<int>(mine)}}, [&] {
    std::vector<int> side;
    for (std::size_t i = 0; i < sizes[mine]; ++i) side.push_back(member(mine, i));
    shape::Tree linked = shape::unlinked(ranks, side.front());
    shape::link(linked, {shape::Form::k_ary, 2}, side, 0);
    return shape::SurveyedTree(std::move(linked));
  });
  const auto me = static_cast<std::size_t>(request.rank);
  const bool paired = index < sizes[other];
  const int pair = paired ? member(other, index) : request.root;

  const auto take = [&](std::size_t area, int from) {
    const plan::Operand home = Builder::output(half(area));
    const plan::Operand as = from == request.root ? Builder::input(half(area)) : home;
    builder.bring(static_cast<int>(area), from, as, home);
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
