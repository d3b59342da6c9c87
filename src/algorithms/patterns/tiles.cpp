// Tiles of a fragment that go from each rank to all others.
#include "algorithms/patterns/tiles.hpp"

namespace copse::algorithms {

using plan::Builder;
using plan::Operand;

std::vector<Fetch> share_tiles(Builder& builder, const Request& request, int area, int first) {
  const auto others = request.others();
  std::vector<plan::Range> parts;
  for (int other : others) parts.push_back(request.block(other));
  builder.share_input(area, others, parts);

  const plan::Range mine = request.block(request.rank);
  std::vector<Fetch> items;
  for (int rank = 0; rank < request.ranks; ++rank) {
    if (rank == request.rank) {
      items.emplace_back([mine] { return Builder::input(mine); });
    } else {
      items.emplace_back([&builder, area, rank, first, mine] {
        return builder.take_part(area, rank, mine, builder.scratch(rank == first ? 1 : 0, mine));
      });
    }
  }
  return items;
}

void finish_tiles(Builder& builder, const Request& request, std::span<const Fetch> items, std::size_t own) {
  const Operand result = builder.open(1, request.others(), Builder::output(request.block(request.rank)));
  fold(builder, result, items, own);
  give_tile(builder, request, result);
}

void give_tile(Builder& builder, const Request& request, Operand result) {
  const auto others = request.others();
  builder.copy(Builder::output(request.block(request.rank)), result);
  builder.post(1, others, result);

  std::vector<Finished> tiles;
  for (const int other : others) tiles.push_back({other, Builder::output(request.block(other))});
  take_finished(builder, 1, tiles);
  builder.reclaim(others);
}

void take_finished(Builder& builder, int area, std::span<const Finished> tiles) {
  builder.lag(1);
  for (const Finished& each : tiles) builder.bring(area, each.rank, each.tile, Builder::output(each.tile.range));
}

}  // namespace copse::algorithms
