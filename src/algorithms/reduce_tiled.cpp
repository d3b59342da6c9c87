// reduce, tiled: rank i reduces tile i of every fragment out of all inputs, into the root's output (HMPI 2.4).
#include "algorithms/patterns.hpp"

namespace copse::algorithms {

plan::Plan reduce_tiled(const Request &request) {
  using plan::Builder;
  using plan::Operand;
  Builder builder = request.builder();
  builder.keep_in_slots();
  const auto others = request.others();
  const auto tile = [&](int rank) {
    return plan::Range{static_cast<std::uint32_t>(rank), 1, static_cast<std::uint32_t>(request.ranks)};
  };
  std::vector<plan::Range> parts;
  for (int other : others) parts.push_back(tile(other));
  const plan::Range mine = tile(request.rank);
  const bool is_root = request.rank == request.root;
  const std::vector<int> to{request.root};

  builder.loop();
  builder.share_input(0, others, parts);
  std::vector<Fetch> items;
  // The root's tile comes first, and waits for the second in a place of its own: where the root's input is its output,
  // it is gone as soon as the result is begun.
  for (int rank = 0; rank < request.ranks; ++rank) {
    items.emplace_back([&, rank] {
      return rank == request.rank ? Builder::input(mine) : builder.take_part(0, rank, mine, builder.scratch(rank == request.root ? 1 : 0, mine));
    });
  }
  Operand result = Builder::output(mine);
  if (!is_root) {
    const bool in_place = request.carrier == plan::Carrier::put && builder.shares_memory_with(request.root);
    result = in_place ? builder.output_of(request.root, mine)
                      : builder.open(1, to, {plan::Space::slot, 0, -1, mine});
  }
  fold(builder, result, items, static_cast<std::size_t>(request.root));
  if (is_root) {
    builder.lag(1);
    for (int other : others) {
      const Operand home = Builder::output(tile(other));
      builder.copy(home, builder.take(1, other, home, home));
    }
  } else {
    builder.post(1, to, result);
  }
  builder.reclaim_input(others);
  return builder.finish();
}

}  // namespace copse::algorithms
