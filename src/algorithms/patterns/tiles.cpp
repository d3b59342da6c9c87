// Tiles of a fragment that go to ranks and from rank to rank.
#include "algorithms/patterns/patterns.hpp"

#include <algorithm>

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

  builder.lag(1);
  for (int other : others) {
    const Operand home = Builder::output(request.block(other));
    builder.copy(home, builder.take(1, other, home, home));
  }
  builder.reclaim(others);
}

namespace {

// Returns, for each rank of a tree, the tiles of the ranks in its subtree. Every subtree is an interval of ranks.
Held tiles_below(const shape::SurveyedTree& tree) {
  Held tiles;
  for (const shape::RankSpan& extent : tree.extents) tiles.push_back(plan::chunks_from(extent.low, extent.size, tree.size()));
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
  if (ranks == 1) return builder.copy(result, Builder::input(request.block(0)));
  const plan::Range first = request.block(previous);
  builder.give(area, next, Builder::input(first));
  for (int step = 0; step < ranks - 1; ++step) {
    const plan::Range tile = request.block((rank + 2 * ranks - 2 - step) % ranks);
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
  const auto tiles = [ranks](int first, int end) { return plan::chunks_from(first, end - first, ranks); };
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
    const Operand out = Builder::output(request.block((rank + ranks - step) % ranks));
    if (!passed_on && lacks(next.front(), out.range)) {
      builder.portion(step);
      if (step == 0 && given.space != plan::Space::none) {
        builder.post(area, next, given);
      } else {
        builder.give(area, next, out);
      }
    }
    const Operand home = Builder::output(request.block((rank + 2 * ranks - 1 - step) % ranks));
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

}  // namespace copse::algorithms
