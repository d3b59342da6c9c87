// Trees and folds.
#include "algorithms/patterns.hpp"

#include <algorithm>
#include <map>

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

void meet(Builder &builder, const shape::Tree &up, const shape::Tree &down, int rank) {
  const auto me = static_cast<std::size_t>(rank);
  for (int child : up.children[me]) builder.await_signal(0, child);
  if (rank != up.root) {
    const std::int32_t parent[] = {up.parent[me]};
    builder.signal(0, parent);
    builder.await_signal(1, down.parent[me]);
  }
  builder.signal(1, down.children[me]);
}

std::vector<Group> groups_of(const Request &request, topology::Level level) {
  std::map<std::int32_t, std::size_t> index;
  std::vector<Group> groups;
  for (int rank = 0; rank < request.ranks; ++rank) {
    const std::int32_t id =
        request.places == nullptr ? 0 : (*request.places)[static_cast<std::size_t>(rank)].at(level);
    const auto [at, is_new] = index.emplace(id, groups.size());
    if (is_new) groups.emplace_back();
    groups[at->second].push_back(rank);
  }
  return groups;
}

const Group &group_of(const std::vector<Group> &groups, int rank) {
  return *std::find_if(groups.begin(), groups.end(), [rank](const Group &group) {
    return std::find(group.begin(), group.end(), rank) != group.end();
  });
}

std::vector<Group> singles(const Group &ranks) {
  std::vector<Group> result;
  for (int rank : ranks) result.push_back({rank});
  return result;
}

int dissemination_rounds(std::size_t groups, int radix) {
  int rounds = 0;
  for (std::size_t known = 1; known < groups; known *= static_cast<std::size_t>(radix)) ++rounds;
  return rounds;
}

void disseminate(Builder &builder, const std::vector<Group> &groups, int rank, int radix, int area) {
  const std::size_t count = groups.size();
  const Group &mine = group_of(groups, rank);
  const auto here = static_cast<std::size_t>(&mine - groups.data());
  const auto position = static_cast<std::size_t>(std::find(mine.begin(), mine.end(), rank) - mine.begin());
  for (std::size_t known = 1; known < count; known *= static_cast<std::size_t>(radix), ++area) {
    std::vector<std::int32_t> listeners, heard;
    for (std::size_t far = known; far < count && far < known * static_cast<std::size_t>(radix); far += known) {
      const Group &after = groups[(here + far) % count], &before = groups[(here + count - far) % count];
      for (std::size_t i = position; i < after.size(); i += mine.size()) listeners.push_back(after[i]);
      heard.push_back(before[position % before.size()]);
    }
    builder.signal(area, listeners);
    for (std::int32_t from : heard) builder.await_signal(area, from);
  }
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
