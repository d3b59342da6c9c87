// Trees and folds.
#include "algorithms/patterns.hpp"

namespace copse::algorithms {

using plan::Builder;
using plan::Operand;

void send_down(Builder &builder, const shape::Tree &tree, int rank, int area, Operand source, plan::Range range) {
  const auto &children = tree.children[static_cast<std::size_t>(rank)];
  const int parent = tree.parent[static_cast<std::size_t>(rank)];
  if (parent == shape::kNoParent) {
    builder.give(area, children, source);
  } else {
    Operand offered = Builder::output(range);
    if (parent == tree.root) offered.space = source.space;
    const Operand value = builder.take(area, parent, offered, Builder::output(range));
    builder.copy(Builder::output(range), value);
    if (!children.empty()) builder.give(area, children, Builder::output(range));
  }
  builder.reclaim(children);
}

void combine_up(Builder &builder, const shape::Tree &tree, int rank, int area, int to) {
  const auto me = static_cast<std::size_t>(rank);
  const auto &children = tree.children[me];
  const Operand partial{plan::Space::slot, 0, -1, {}};
  builder.keep_in_slots();
  const bool is_root = rank == tree.root;
  const std::vector<int> up{is_root ? to : tree.parent[me]};
  const int up_area = is_root ? area + 1 : area;

  if (children.empty() && !is_root) {
    builder.give(up_area, up, Builder::input());
    builder.reclaim(up);
  } else {
    // Rank order where the tree keeps it; otherwise some fixed order, the same in every call.
    std::vector<int> order{rank};
    if (shape::preserves_rank_order(tree)) {
      order = shape::combining_order(tree, rank);
    } else {
      order.insert(order.end(), children.begin(), children.end());
    }
    std::vector<Fetch> items;
    std::size_t own_at = 0;
    for (int member : order) {
      if (member == rank) {
        own_at = items.size();
        items.emplace_back([] { return Builder::input(); });
      } else {
        const bool leaf = tree.children[static_cast<std::size_t>(member)].empty();
        items.emplace_back([&builder, area, member, leaf, partial] {
          return builder.take(area, member, leaf ? Builder::input() : partial, builder.scratch(0));
        });
      }
    }
    if (rank == to && is_root) {
      fold(builder, Builder::output(), items, own_at);
    } else {
      const Operand place = builder.open(up_area, up, partial);
      fold(builder, place, items, own_at);
      builder.post(up_area, up, place);
    }
  }
  if (rank == to && !is_root)
    builder.copy(Builder::output(), builder.take(area + 1, tree.root, partial, Builder::output()));
}

void fold(Builder &builder, Operand dst, std::span<const Fetch> items, std::size_t own) {
  Operand sum = items[own]();
  for (std::size_t left = own; left-- > 0;) {
    const Operand item = items[left]();
    builder.reduce(dst, item, sum);
    sum = dst;
  }
  for (std::size_t right = own + 1; right < items.size(); ++right) {
    const Operand item = items[right]();
    builder.reduce(dst, sum, item);
    sum = dst;
  }
  builder.copy(dst, sum);
}

plan::Range tile_of(const Request &request, int rank) {
  return {static_cast<std::uint32_t>(rank), 1, static_cast<std::uint32_t>(request.ranks)};
}

std::vector<Fetch> share_tiles(Builder &builder, const Request &request, int area, int first) {
  const auto others = request.others();
  std::vector<plan::Range> parts;
  for (int other : others) parts.push_back(tile_of(request, other));
  builder.share_input(area, others, parts);

  const plan::Range mine = tile_of(request, request.rank);
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

void reduce_scatter_ring(Builder &builder, const Request &request, int area, plan::Space home, Operand result) {
  const int rank = request.rank, ranks = request.ranks;
  const std::vector<int> next{(rank + 1) % ranks};
  const int previous = (rank + ranks - 1) % ranks;
  if (ranks == 1) return builder.copy(result, Builder::input(tile_of(request, 0)));
  const plan::Range first = tile_of(request, previous);
  builder.give(area, next, Builder::input(first));
  for (int step = 0; step < ranks - 1; ++step) {
    const plan::Range tile = tile_of(request, (rank + 2 * ranks - 2 - step) % ranks);
    const Operand partial{step == 0 ? plan::Space::input : home, 0, -1, tile};
    builder.portion(step);
    const Operand theirs = builder.take(area, previous, partial, builder.scratch(0, tile));
    const bool last = step == ranks - 2;
    const Operand place = last ? result : builder.open(area, next, {home, 0, -1, tile});
    builder.reduce(place, theirs, Builder::input(tile));
    if (last) continue;
    builder.portion(step + 1);
    builder.post(area, next, place);
  }
}

void allgather_ring(Builder &builder, const Request &request, int area, Operand given) {
  const int rank = request.rank, ranks = request.ranks;
  if (ranks == 1) return;
  const std::vector<int> next{(rank + 1) % ranks};
  const int previous = (rank + ranks - 1) % ranks;
  builder.portion(0);
  builder.post(area, next, given);
  for (int step = 0; step < ranks - 1; ++step) {
    const Operand home = Builder::output(tile_of(request, (rank + ranks - 1 - step) % ranks));
    const Operand theirs = builder.take(area, previous, home, home);
    if (step == ranks - 2) return builder.copy(home, theirs);
    const Operand place = builder.open(area, next, home);
    builder.copy(place, theirs);
    builder.portion(step + 1);
    builder.post(area, next, place);
    if (theirs != home) builder.copy(home, place);
  }
}

}  // namespace copse::algorithms
