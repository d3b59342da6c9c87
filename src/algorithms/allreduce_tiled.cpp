// allreduce, tiled: rank i reduces tile i of every fragment out of all inputs and gives it to all (HMPI 2.4).
#include "algorithms/patterns.hpp"

namespace copse::algorithms {

plan::Plan allreduce_tiled(const Request &request) {
  using plan::Builder;
  using plan::Operand;
  Builder builder = request.builder();
  const auto others = request.others();
  const auto tile = [&](int rank) {
    return plan::Range{static_cast<std::uint32_t>(rank), 1, static_cast<std::uint32_t>(request.ranks)};
  };
  std::vector<plan::Range> parts;
  for (int other : others) parts.push_back(tile(other));
  const plan::Range mine = tile(request.rank);

  builder.loop();
  builder.share_input(0, others, parts);
  std::vector<Fetch> items;
  for (int rank = 0; rank < request.ranks; ++rank) {
    items.emplace_back([&, rank] {
      return rank == request.rank ? Builder::input(mine) : builder.take_part(0, rank, mine, builder.scratch(0, mine));
    });
  }
  const Operand result = builder.open(1, others, Builder::output(mine));
  fold(builder, result, items, static_cast<std::size_t>(request.rank));
  builder.copy(Builder::output(mine), result);
  builder.post(1, others, result);

  builder.lag(1);
  for (int other : others) {
    const Operand home = Builder::output(tile(other));
    builder.copy(home, builder.take(1, other, home, home));
  }
  builder.reclaim(others);
  return builder.finish();
}

}  // namespace copse::algorithms
