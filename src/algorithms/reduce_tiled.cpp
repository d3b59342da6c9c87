// reduce, tiled: rank i reduces tile i of every fragment out of all inputs, and the tiles go into the root's output (HMPI
// 2.4, 2.6). This is a reduce-scatter whose tiles the root takes. By put, the ranks write the tiles into the root's output
// themselves.
// Cost: 2 a + n (b + c) + (P-1)/P n b through slots; a + (P-1)/P n c by put
// Wins: long messages of ranks that share memory: all processors reduce
#include "algorithms/patterns/tiles.hpp"

namespace copse::algorithms {

plan::Plan reduce_tiled(const Request& request) {
  using plan::Builder;
  using plan::Operand;
  Builder builder = request.builder();
  builder.keep_in_slots();
  const auto others = request.others();
  const std::vector<int> to{request.root};
  const plan::Range mine = request.block(request.rank);
  const bool is_root = request.rank == request.root;

  builder.loop();
  // The fold starts with the root's input. It may be the root's output, and then the first result overwrites it.
  const auto items = share_tiles(builder, request, 0, request.root);
  Operand result = Builder::output(mine), via{};
  if (!is_root) {
    const bool in_place = builder.puts(request.root);
    result = in_place ? builder.output_of(request.root, mine) : builder.open(1, to, Builder::in_slot(mine));
    if (in_place) via = builder.scratch(2, mine);
  }
  fold(builder, result, items, static_cast<std::size_t>(request.root), via);
  if (is_root) {
    std::vector<Finished> tiles;
    for (const int other : others) tiles.push_back({other, Builder::output(request.block(other))});
    take_finished(builder, 1, tiles);
  } else {
    builder.post(1, to, result);
  }
  builder.reclaim_input(others);
  return builder.finish();
}

}  // namespace copse::algorithms
