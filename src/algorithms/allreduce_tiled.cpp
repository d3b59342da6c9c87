// allreduce, tiled: rank i reduces tile i of every fragment out of all inputs and gives it to all (HMPI 2.4).
#include "algorithms/patterns.hpp"

namespace copse::algorithms {

plan::Plan allreduce_tiled(const Request &request) {
  using plan::Builder;
  using plan::Operand;
  Builder builder = request.builder();
  const auto others = request.others();
  const plan::Range mine = tile_of(request, request.rank);

  builder.loop();
  const auto items = share_tiles(builder, request, 0, request.rank);
  const Operand result = builder.open(1, others, Builder::output(mine));
  fold(builder, result, items, static_cast<std::size_t>(request.rank));
  builder.copy(Builder::output(mine), result);
  builder.post(1, others, result);

  builder.lag(1);
  for (int other : others) {
    const Operand home = Builder::output(tile_of(request, other));
    builder.copy(home, builder.take(1, other, home, home));
  }
  builder.reclaim(others);
  return builder.finish();
}

}  // namespace copse::algorithms
