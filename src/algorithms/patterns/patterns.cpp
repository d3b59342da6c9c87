// Patterns of trees, folds and tiles.
#include "algorithms/patterns/patterns.hpp"

#include <algorithm>
#include <bit>
#include <map>

namespace copse::algorithms {

using plan::Builder;
using plan::Operand;

void send_down(Builder& builder, const shape::SurveyedTree& tree, int rank, int area, Operand source, plan::Range range) {
  const auto& children = tree.children[static_cast<std::size_t>(rank)];
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

shape::Tree cut_between(shape::Tree tree, const Request& request, topology::Level level) {
  if (request.places == nullptr) return tree;
  const auto group = [&](int rank) { return (*request.places)[static_cast<std::size_t>(rank)].at(level); };
  for (int rank = 0; rank < tree.size(); ++rank) {
    std::erase_if(tree.children[static_cast<std::size_t>(rank)], [&](int child) { return group(child) != group(rank); });
    int& parent = tree.parent[static_cast<std::size_t>(rank)];
    if (parent != shape::kNoParent && group(parent) != group(rank)) parent = shape::kNoParent;
  }
  return tree;
}

const shape::SurveyedTree& node_trees(Request request, int root) {
  request.root = root;
  return request.shared->tree({"machine, each node by itself", {request.radix, request.root}}, [&] {
    return shape::SurveyedTree(cut_between(request.machine_tree(shape::Form::k_nomial), request, topology::Level::node));
  });
}

const shape::SurveyedTree& below_leaders(const Request& request) {
  return request.shared->tree({"below the leader of each node"}, [&] {
    const Groups& nodes = request.shared->groups(topology::Level::node);
    shape::Tree forest = shape::unlinked(request.ranks, nodes.leaders().front());
    for (const Group& node : nodes) {
      const auto leader = std::find(node.begin(), node.end(), nodes.leader_of(node.front())) - node.begin();
      shape::link(forest, {shape::Form::flat}, node, static_cast<std::size_t>(leader));
    }
    return shape::SurveyedTree(std::move(forest));
  });
}

namespace {

// Returns the number of the parent's scratch into which a rank puts its value. Scratch 0 is for what comes over the wire, and
// scratch 1 for sums.
int pushed_to(const shape::SurveyedTree& tree, int rank) { return 2 + tree.place[static_cast<std::size_t>(rank)]; }

// Combines this rank's input and what its children give on `area` into `place`.
void combine_below(Builder& builder, const shape::SurveyedTree& tree, int rank, int area, Operand place) {
  const auto& children = tree.children[static_cast<std::size_t>(rank)];
  const plan::Range range = place.range;
  // The order is that of the ranks if the tree keeps it. Otherwise it is some fixed order, the same in every call.
  std::vector<int> order{rank};
  if (tree.keeps_order) {
    order = shape::combining_order(tree, rank);
  } else {
    order.insert(order.end(), children.begin(), children.end());
  }
  std::vector<Fetch> items;
  std::size_t own_at = 0;
  for (int member : order) {
    if (member == rank) {
      own_at = items.size();
      items.emplace_back([range] { return Builder::input(range); });
    } else {
      const bool put = builder.puts(member), partial = !tree.children[static_cast<std::size_t>(member)].empty();
      const Operand given{partial && !put ? plan::Space::slot : plan::Space::input, 0, -1, range};
      items.emplace_back([&builder, area, member, given, number = put ? pushed_to(tree, member) : 0, range] {
        return builder.take(area, member, given, builder.scratch(number, range));
      });
    }
  }
  const bool far = place.rank >= 0 && place.rank != rank;
  fold(builder, place, items, own_at, far ? builder.scratch(1, range) : Operand{});
}

}  // namespace

Operand combine_in_root(Builder& builder, const shape::SurveyedTree& tree, int rank, int area, std::span<const int> readers,
                        plan::Range range) {
  builder.keep_in_slots();
  builder.put_into_scratch(tree.most_children + 2);
  const bool is_root = tree.parent[static_cast<std::size_t>(rank)] == shape::kNoParent;
  std::vector<int> up(readers.begin(), readers.end());
  if (!is_root) up = {tree.parent[static_cast<std::size_t>(rank)]};
  Operand there = Builder::output(range);
  if (!is_root && builder.puts(up.front())) there = Builder::scratch_of_peer(pushed_to(tree, rank), range);
  if (!is_root && tree.children[static_cast<std::size_t>(rank)].empty()) {
    builder.give_to(area, up.front(), Builder::input(range), there);
    builder.reclaim(up);
    return Builder::input(range);
  }
  const Operand home{plan::Space::slot, 0, -1, range};
  const Operand place =
      up.size() == 1 ? builder.open_for(is_root ? area + 1 : area, up.front(), home, there) : builder.open(area + 1, up, home);
  combine_below(builder, tree, rank, area, place);
  if (!is_root) builder.post(area, up, place);
  return place;
}

void combine_up(Builder& builder, const shape::SurveyedTree& tree, int rank, int area, int to) {
  const bool is_root = tree.parent[static_cast<std::size_t>(rank)] == shape::kNoParent;
  builder.keep_in_slots();
  builder.put_into_scratch(tree.most_children + 2);
  if (is_root && rank == to) return combine_below(builder, tree, rank, area, Builder::output());
  const int reader[] = {to};
  const Operand place = combine_in_root(builder, tree, rank, area, reader, {});
  if (is_root) builder.post(area + 1, reader, place);
  if (rank == to) {
    const Operand given{builder.puts(tree.root) ? plan::Space::output : plan::Space::slot, 0, -1, {}};
    builder.copy(Builder::output(), builder.take(area + 1, tree.root, given, Builder::output()));
  }
}

void fold(Builder& builder, Operand dst, std::span<const Fetch> items, std::size_t own, Operand via) {
  Operand sum = items[own]();
  std::size_t to_do = items.size() - 1;
  const auto place = [&] { return --to_do == 0 || via.space == plan::Space::none ? dst : via; };
  for (std::size_t left = own; left-- > 0;) {
    const Operand item = items[left](), next = place();
    builder.reduce(next, item, sum);
    sum = next;
  }
  for (std::size_t right = own + 1; right < items.size(); ++right) {
    const Operand item = items[right](), next = place();
    builder.reduce(next, sum, item);
    sum = next;
  }
  builder.copy(dst, sum);
}

void share_blocks(Builder& builder, const Request& request, int area) {
  const auto others = request.others();
  const bool pairs = traits_of(request.collective).input == plan::Extent::row;
  std::vector<plan::Range> parts;
  for (int other : others) parts.push_back(pairs ? request.pair(request.rank, other) : request.block(other));
  builder.share_input(area, others, parts);
  builder.reclaim_input(others);
}

plan::Range tile_of(const Request& request, int rank) {
  return {static_cast<std::uint32_t>(rank), 1, static_cast<std::uint32_t>(request.ranks)};
}

std::vector<Fetch> share_tiles(Builder& builder, const Request& request, int area, int first) {
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

void meet(Builder& builder, const shape::Tree& up, const shape::Tree& down, int rank) {
  const auto me = static_cast<std::size_t>(rank);
  for (int child : up.children[me]) builder.await_signal(0, child);
  if (rank != up.root) {
    const std::int32_t parent[] = {up.parent[me]};
    builder.signal(0, parent);
    builder.await_signal(1, down.parent[me]);
  }
  builder.signal(1, down.children[me]);
}

int dissemination_rounds(std::size_t teams, int radix) {
  int rounds = 0;
  for (std::size_t known = 1; known < teams; known *= static_cast<std::size_t>(radix)) ++rounds;
  return rounds;
}

void disseminate(Builder& builder, const Teams& teams, int rank, int radix, int area) {
  const std::size_t count = teams.size(), here = teams.index_of(rank), position = teams.position(here, rank);
  const std::size_t size = teams[here].size();
  Builder::need_areas(area + dissemination_rounds(count, radix));
  for (std::size_t known = 1; known < count; known *= static_cast<std::size_t>(radix), ++area) {
    std::vector<std::int32_t> listeners, heard;
    for (std::size_t far = known; far < count && far < known * static_cast<std::size_t>(radix); far += known) {
      const auto after = teams[(here + far) % count], before = teams[(here + count - far) % count];
      for (std::size_t i = position; i < after.size(); i += size) listeners.push_back(after[i]);
      heard.push_back(before[position % before.size()]);
    }
    builder.signal(area, listeners);
    for (std::int32_t from : heard) builder.await_signal(area, from);
  }
}

void settle(Builder& builder, Operand place, const Sum& sum) {
  if (sum.high.space == plan::Space::none) {
    builder.copy(place, sum.low);
  } else {
    builder.reduce(place, sum.low, sum.high);
  }
}

void finish_tiles(Builder& builder, const Request& request, std::span<const Fetch> items, std::size_t own) {
  const Operand result = builder.open(1, request.others(), Builder::output(tile_of(request, request.rank)));
  fold(builder, result, items, own);
  give_tile(builder, request, result);
}

void give_tile(Builder& builder, const Request& request, Operand result) {
  const auto others = request.others();
  builder.copy(Builder::output(tile_of(request, request.rank)), result);
  builder.post(1, others, result);

  builder.lag(1);
  for (int other : others) {
    const Operand home = Builder::output(tile_of(request, other));
    builder.copy(home, builder.take(1, other, home, home));
  }
  builder.reclaim(others);
}

namespace {

// Returns, for each rank of a tree, the tiles of the ranks in its subtree. Every subtree is an interval of ranks.
Held tiles_below(const shape::SurveyedTree& tree) {
  Held tiles;
  for (const shape::RankSpan& extent : tree.extents)
    tiles.push_back(
        {static_cast<std::uint32_t>(extent.low), static_cast<std::uint32_t>(extent.size), static_cast<std::uint32_t>(tree.size())});
  return tiles;
}

// Returns the part of `wanted` that is not in `has`, as up to two runs.
std::vector<plan::Range> missing(plan::Range wanted, plan::Range has) {
  std::vector<plan::Range> runs;
  const std::uint32_t end = wanted.first + wanted.count, has_end = has.first + has.count;
  if (has_end <= wanted.first || end <= has.first) return {wanted};
  if (wanted.first < has.first) runs.push_back({wanted.first, has.first - wanted.first, wanted.of});
  if (has_end < end) runs.push_back({has_end, end - has_end, wanted.of});
  return runs;
}

}  // namespace

Held scatter_tiles(Builder& builder, const shape::SurveyedTree& tree, int rank, int area, Operand source) {
  const Held held = tiles_below(tree);
  const auto me = static_cast<std::size_t>(rank);
  const int parent = tree.parent[me];
  if (parent != shape::kNoParent) {
    const Operand home = Builder::output(held[me]);
    Operand offered = home;
    if (parent == tree.root) offered.space = source.space;
    builder.copy(home, builder.take(area, parent, offered, home));
    source = Builder::output();
  }
  std::vector<plan::Range> parts;
  for (int child : tree.children[me]) parts.push_back(held[static_cast<std::size_t>(child)]);
  if (!parts.empty()) builder.give_parts(area, tree.children[me], parts, source);
  builder.reclaim(tree.children[me]);
  return held;
}

void reduce_scatter_tiles_ring(Builder& builder, const Request& request, int area, plan::Space home, Operand result) {
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

std::vector<Halving> halvings(int ranks, int rank) {
  std::vector<Halving> rounds;
  const auto tiles = [ranks](int first, int end) {
    return plan::Range{static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(end - first),
                       static_cast<std::uint32_t>(ranks)};
  };
  for (int begin = 0, end = ranks; end - begin > 1;) {
    const int middle = begin + (end - begin + 1) / 2;
    const bool low = rank < middle;
    const int here = low ? begin : middle, here_end = low ? middle : end;
    const int there = low ? middle : begin, there_end = low ? end : middle;
    Halving round{there + (rank - here) % (there_end - there), {}, tiles(there, there_end), tiles(here, here_end)};
    for (int source = there + (rank - here); source < there_end; source += here_end - here) round.sources.push_back(source);
    rounds.push_back(std::move(round));
    begin = here;
    end = here_end;
  }
  return rounds;
}

void reduce_scatter_tiles_halving(Builder& builder, const Request& request, int area, plan::Space home, Operand result) {
  const auto rounds = halvings(request.ranks, request.rank);
  Operand partial = Builder::input();
  for (std::size_t i = 0; i < rounds.size(); ++i) {
    const Halving& round = rounds[i];
    builder.portion(static_cast<int>(i));
    builder.give(area, std::vector{round.reader}, part_of(partial, round.given));
    if (round.sources.empty()) continue;
    const Operand kept{home, 0, -1, round.kept};
    const Operand place = i + 1 == rounds.size() ? result : builder.open(area, std::vector{rounds[i + 1].reader}, kept);
    for (int source : round.sources) {
      // A rank gives from its input until it has taken something.
      const auto theirs = halvings(request.ranks, source);
      const bool untouched = std::all_of(theirs.begin(), theirs.begin() + static_cast<std::ptrdiff_t>(i),
                                         [](const Halving& earlier) { return earlier.sources.empty(); });
      const Operand value = untouched ? Builder::input(round.kept) : kept;
      builder.reduce(place, part_of(partial, round.kept), builder.take(area, source, value, builder.scratch(0, round.kept)));
      partial = place;
    }
  }
  builder.portion(0);
  builder.copy(result, part_of(partial, result.range));
}

void gather_tiles_up(Builder& builder, const shape::SurveyedTree& tree, int rank, int area, Operand mine) {
  const Held below = tiles_below(tree);
  for (int child : tree.children[static_cast<std::size_t>(rank)]) {
    const plan::Range tiles = below[static_cast<std::size_t>(child)];
    const Operand home = part_of(mine, tiles);
    builder.copy(home, builder.take(area, child, {plan::Space::slot, 0, -1, tiles}, home));
  }
  if (rank == tree.root) return;
  const std::vector<int> parent{tree.parent[static_cast<std::size_t>(rank)]};
  builder.post(area, parent, part_of(mine, below[static_cast<std::size_t>(rank)]));
}

void allgather_tiles_ring(Builder& builder, const Request& request, int area, Operand given, const Held& held) {
  const int rank = request.rank, ranks = request.ranks;
  if (ranks == 1) return;
  const std::vector<int> next{(rank + 1) % ranks};
  const int previous = (rank + ranks - 1) % ranks;
  const auto lacks = [&](int who, plan::Range tile) {
    return held.empty() || !missing(tile, held[static_cast<std::size_t>(who)]).empty();
  };
  bool passed_on = false;  // whether the previous step already gave what it took
  for (int step = 0; step < ranks - 1; ++step) {
    const Operand out = Builder::output(tile_of(request, (rank + ranks - step) % ranks));
    if (!passed_on && lacks(next.front(), out.range)) {
      builder.portion(step);
      if (step == 0 && given.space != plan::Space::none) {
        builder.post(area, next, given);
      } else {
        builder.give(area, next, out);
      }
    }
    const Operand home = Builder::output(tile_of(request, (rank + 2 * ranks - 1 - step) % ranks));
    passed_on = false;
    if (!lacks(rank, home.range)) continue;
    builder.portion(step);
    const Operand theirs = builder.take(area, previous, home, home);
    if (step == ranks - 2 || !lacks(next.front(), home.range)) {
      builder.copy(home, theirs);
      continue;
    }
    const Operand place = builder.open(area, next, home);
    builder.copy(place, theirs);
    builder.portion(step + 1);
    builder.post(area, next, place);
    if (theirs != home) builder.copy(home, place);
    passed_on = true;
  }
  builder.reclaim(next);
}

void allgather_tiles_doubling(Builder& builder, const Request& request, int area, const Held& held) {
  int rounds = 0;
  while ((1 << rounds) < request.ranks) ++rounds;
  const auto halves = halvings(request.ranks, request.rank);
  for (std::size_t i = halves.size(); i-- > 0;) {
    builder.portion(rounds - 1 - static_cast<int>(i));
    std::vector<int> takers;
    std::vector<plan::Range> parts;
    for (int taker : halves[i].sources) {
      for (plan::Range run : missing(halves[i].kept, held[static_cast<std::size_t>(taker)])) {
        takers.push_back(taker);
        parts.push_back(run);
      }
    }
    if (!takers.empty()) builder.give_parts(area, takers, parts, Builder::output());
    builder.reclaim(takers);
    for (plan::Range run : missing(halves[i].given, held[static_cast<std::size_t>(request.rank)])) {
      const Operand home = Builder::output(run);
      builder.copy(home, builder.take(area, halves[i].reader, home, home));
    }
  }
}

void scan_flat(Builder& builder, const Request& request, bool exclusive) {
  const int rank = request.rank;
  std::vector<int> after;
  for (int other = rank + 1; other < request.ranks; ++other) after.push_back(other);
  builder.give(0, after, Builder::input());
  std::vector<Fetch> items;
  for (int other = 0; other < rank; ++other) {
    const int place = exclusive && other + 1 == rank ? 1 : 0;  // the fold takes this message first, and it waits for the second
    items.emplace_back([&builder, other, place] { return builder.take(0, other, Builder::input(), builder.scratch(place)); });
  }
  if (!exclusive) items.emplace_back([] { return Builder::input(); });
  if (!items.empty()) fold(builder, Builder::output(), items, items.size() - 1);
}

void scan_doubling(Builder& builder, const Request& request, bool exclusive) {
  const int rank = request.rank, ranks = request.ranks;
  Operand before;                  // the sum of the known ranks before this one
  Sum with{Builder::input(), {}};  // the sum of the known ranks up to this one
  Builder::need_areas(dissemination_rounds(static_cast<std::size_t>(ranks), 2));
  int area = 0;
  for (int distance = 1; distance < ranks; distance *= 2, ++area) {
    if (rank + distance < ranks) {
      const std::vector<int> reader{rank + distance};
      const Operand place = builder.open(area, reader, builder.scratch(area + 2));
      settle(builder, place, with);
      builder.post(area, reader, place);
      with = {place, {}};
    }
    if (rank < distance) continue;
    if (!exclusive && with.high.space != plan::Space::none) {
      settle(builder, Builder::output(), with);
      with = {Builder::output(), {}};
    }
    const Operand theirs = builder.take(area, rank - distance, builder.scratch(area + 2), builder.scratch(0));
    if (exclusive) {
      // The sum of the ranks before this one is kept by itself. It is combined with this rank's input only where the sum of
      // both is given on.
      const int next = 2 * distance;
      const bool last = next >= ranks || (rank < next && rank + next >= ranks);
      const Operand sum = last ? Builder::output() : builder.scratch(1);
      settle(builder, sum, before.space == plan::Space::none ? Sum{theirs, {}} : Sum{theirs, before});
      before = sum;
      with = {before, Builder::input()};
    } else {
      with = {theirs, with.low};
    }
  }
  if (!exclusive) settle(builder, Builder::output(), with);
  if (exclusive && rank > 0) builder.copy(Builder::output(), before);
}

void scan_binomial(Builder& builder, const Request& request, bool exclusive) {
  const int rank = request.rank, ranks = request.ranks;
  const int ones = std::countr_one(static_cast<unsigned>(rank));
  const int width = 1 << ones;  // the number of ranks in the block that ends with this one
  Sum before;                   // the sum of the known ranks before this one
  const auto settled = [&]() -> Operand {
    if (before.high.space != plan::Space::none) {
      settle(builder, builder.scratch(0), before);
      before = {builder.scratch(0), {}};
    }
    return before.low;
  };
  const auto take_before = [&](int area, int from, int given, int home) {
    const Operand known = settled();
    before = {builder.take(area, from, builder.scratch(given), builder.scratch(home)), known};
  };
  // Up. What comes over the wire stays in its scratch until it is combined with the next value. So two scratches take turns.
  int number = 0;
  for (int distance = 1; distance < width; distance *= 2, ++number) take_before(0, rank - distance, 4, 1 + number % 2);
  std::vector<int> readers;  // the ranks that take from this one on the way down
  for (int distance = width / 2; distance > 0; distance /= 2)
    if (rank + distance < ranks) readers.push_back(rank + distance);
  Sum block{Builder::input(), {}};  // the sum of the known ranks up to this one
  const bool wanted = rank + width < ranks || (rank < width && !readers.empty());
  if (ones > 0 && (wanted || !exclusive)) block = {settled(), Builder::input()};
  if (rank + width < ranks) {
    const std::vector<int> reader{rank + width};
    const Operand place = builder.open(0, reader, builder.scratch(4));
    settle(builder, place, block);
    builder.post(0, reader, place);
    block = {place, {}};
  }
  // Down.
  if (rank >= width) {
    if (exclusive) {
      take_before(1, rank - width, 5, 3);
      if (!readers.empty()) block = {settled(), Builder::input()};
    } else {
      if (block.high.space != plan::Space::none) {
        settle(builder, Builder::output(), block);
        block = {Builder::output(), {}};
      }
      block = {builder.take(1, rank - width, builder.scratch(5), builder.scratch(3)), block.low};
    }
  }
  if (!readers.empty()) {
    const Operand place = builder.open(1, readers, builder.scratch(5));
    settle(builder, place, block);
    builder.post(1, readers, place);
    block = {place, {}};
  }
  if (!exclusive) settle(builder, Builder::output(), block);
  if (exclusive && rank > 0) settle(builder, Builder::output(), before);
}

}  // namespace copse::algorithms
