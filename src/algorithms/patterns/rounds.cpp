// Schedules: who gives which blocks to whom, round by round.
#include "algorithms/patterns/rounds.hpp"

#include <algorithm>
#include <bit>

namespace copse::algorithms {

using plan::chunks_from;
using plan::Range;

std::vector<Range> runs_of(std::vector<int> blocks, int ranks) {
  std::sort(blocks.begin(), blocks.end());
  std::vector<Range> runs;
  for (const int block : blocks) {
    if (!runs.empty() && static_cast<int>(runs.back().first + runs.back().count) == block) {
      ++runs.back().count;
    } else {
      runs.push_back(chunks_from(block, 1, ranks));
    }
  }
  return runs;
}

Rounds ring_rounds(int ranks, int rank, int way) {
  const auto at = [&](int distance) { return (rank + ranks + distance) % ranks; };
  Rounds rounds;
  for (int step = 0; step + 1 < ranks; ++step)
    rounds.push_back(
        {{{at(way), {chunks_from(at(-way * step), 1, ranks)}}}, {{at(-way), {chunks_from(at(-way * (step + 1)), 1, ranks)}}}});
  return rounds;
}

Rounds doubling_rounds(int ranks, int rank) {
  Rounds rounds;
  const auto blocks = [ranks](int first, int end) { return std::vector{chunks_from(first, end - first, ranks)}; };
  for (int begin = 0, end = ranks; end - begin > 1;) {
    const int middle = begin + (end - begin + 1) / 2;
    const bool low = rank < middle;
    const int here = low ? begin : middle, here_end = low ? middle : end;
    const int there = low ? middle : begin, there_end = low ? end : middle;
    Round& round = rounds.emplace_back();
    round.taken.push_back({there + (rank - here) % (there_end - there), blocks(there, there_end)});
    for (int reader = there + (rank - here); reader < there_end; reader += here_end - here)
      round.given.push_back({reader, blocks(here, here_end)});
    begin = here;
    end = here_end;
  }
  rounds.resize(std::bit_width(static_cast<unsigned>(ranks - 1)));  // a rank that is alone sooner than others gets empty rounds
  std::reverse(rounds.begin(), rounds.end());
  return rounds;
}

namespace {

// Adds a shift to the round. The rank takes `count` blocks from the rank `distance` ahead, beginning with that rank's own. It
// gives as many, beginning with its own, to the rank `distance` behind.
void add_shift(Round& round, int ranks, int rank, int distance, int count) {
  round.given.push_back({(rank + ranks - distance) % ranks, {chunks_from(rank, count, ranks)}});
  round.taken.push_back({(rank + distance) % ranks, {chunks_from(rank + distance - ranks, count, ranks)}});
}

}  // namespace

Rounds bruck_rounds(int ranks, int rank, int radix) {
  Rounds rounds;
  for (int known = 1; known < ranks; known *= radix) {
    Round& round = rounds.emplace_back();
    for (int distance = known; distance < ranks && distance < known * radix; distance += known)
      add_shift(round, ranks, rank, distance, std::min(known, ranks - distance));
  }
  return rounds;
}

Rounds circulant_rounds(int ranks, int rank) {
  Rounds rounds;
  for (int after = ranks; after > 1; after = (after + 1) / 2) {
    const int known = (after + 1) / 2;
    add_shift(rounds.emplace_back(), ranks, rank, known, after - known);
  }
  std::reverse(rounds.begin(), rounds.end());
  return rounds;
}

Rounds neighbor_rounds(int ranks, int rank) {
  if (ranks % 2 != 0) return ring_rounds(ranks, rank);
  const bool even = rank % 2 == 0;
  const int sign = even ? -1 : 1;  // the side of the second round and every other one after it
  const auto neighbor = [&](int side) { return (rank + ranks + side) % ranks; };
  const auto pair = [&](int of, int offset) { return chunks_from((of / 2 * 2 + 2 * offset + 2 * ranks) % ranks, 2, ranks); };
  Rounds rounds{
      {{{neighbor(-sign), {chunks_from(rank, 1, ranks)}}}, {{neighbor(-sign), {chunks_from(neighbor(-sign), 1, ranks)}}}}};
  for (int step = 1; step < ranks / 2; ++step) {
    // Returns which pair an even rank takes in a step, as an offset in pairs from its own pair, which it completes in step 0.
    // For an odd rank, the offset has the other sign.
    const auto last = [](int steps) { return steps % 2 == 1 ? -(steps + 1) / 2 : steps / 2; };
    const int side = step % 2 == 1 ? sign : -sign;
    rounds.push_back(
        {{{neighbor(side), {pair(rank, -sign * last(step - 1))}}}, {{neighbor(side), {pair(rank, -sign * last(step))}}}});
  }
  return rounds;
}

Rounds bine_rounds(int ranks, int rank) {
  const int members = static_cast<int>(std::bit_floor(static_cast<unsigned>(ranks))), pairs = ranks - members;
  const auto rank_of = [&](int member) { return member < pairs ? 2 * member : member + pairs; };
  const bool paired = rank < 2 * pairs;
  const int member = paired ? rank / 2 : rank - pairs;
  const int steps = std::bit_width(static_cast<unsigned>(members)) - 1;
  Rounds rounds(static_cast<std::size_t>(steps + (pairs > 0 ? 2 : 0)));
  if (paired) {
    const auto mine = runs_of({rank}, ranks), theirs = runs_of({rank ^ 1}, ranks);
    std::vector<int> others;
    for (int block = 0; block < ranks; ++block)
      if (block != (rank | 1)) others.push_back(block);
    if (rank % 2 == 1) {
      rounds.front().given.push_back({rank - 1, mine});
      rounds.back().taken.push_back({rank - 1, runs_of(others, ranks)});
      return rounds;
    }
    rounds.front().taken.push_back({rank + 1, theirs});
    rounds.back().given.push_back({rank + 1, runs_of(others, ranks)});
  }
  const auto partner = [&](int of, int step) {
    const int distance = (1 - (step % 2 == 0 ? -1 : 1) * (1 << (step + 1))) / 3;  // (1 - (-2)^(step + 1)) / 3
    return (of + (of % 2 == 0 ? distance : -distance) + members * members) % members;
  };
  const auto known = [&](auto& self, int of, int step) -> std::vector<int> {
    if (step == 0) {
      if (of >= pairs) return {rank_of(of)};
      return {2 * of, 2 * of + 1};
    }
    std::vector<int> blocks = self(self, of, step - 1);
    const auto more = self(self, partner(of, step - 1), step - 1);
    blocks.insert(blocks.end(), more.begin(), more.end());
    return blocks;
  };
  for (int step = 0; step < steps; ++step) {
    const int other = partner(member, step);
    Round& round = rounds[static_cast<std::size_t>(step + (pairs > 0 ? 1 : 0))];
    round.given.push_back({rank_of(other), runs_of(known(known, member, step), ranks)});
    round.taken.push_back({rank_of(other), runs_of(known(known, other, step), ranks)});
  }
  return rounds;
}

Rounds forest_rounds(const shape::Tree& forest, int rank) {
  const int ranks = forest.size();
  std::vector<int> depth(static_cast<std::size_t>(ranks)), roots;
  std::vector<std::vector<int>> below(static_cast<std::size_t>(ranks));
  int deepest = 0;
  for (int each = 0; each < ranks; ++each) {
    int top = each;
    below[static_cast<std::size_t>(each)].push_back(each);
    for (int up; (up = forest.parent[static_cast<std::size_t>(top)]) != shape::kNoParent; top = up) {
      below[static_cast<std::size_t>(up)].push_back(each);
      ++depth[static_cast<std::size_t>(each)];
    }
    if (top == each) roots.push_back(each);
    deepest = std::max(deepest, depth[static_cast<std::size_t>(each)]);
  }
  const auto inside = [&](int top) { return runs_of(below[static_cast<std::size_t>(top)], ranks); };
  const auto outside = [&](int top) {
    std::vector<bool> within(static_cast<std::size_t>(ranks));
    for (const int block : below[static_cast<std::size_t>(top)]) within[static_cast<std::size_t>(block)] = true;
    std::vector<int> rest;
    for (int block = 0; block < ranks; ++block)
      if (!within[static_cast<std::size_t>(block)]) rest.push_back(block);
    return runs_of(rest, ranks);
  };

  Rounds rounds(static_cast<std::size_t>(2 * deepest + 1));
  const auto up_from = [&](int d) -> Round& { return rounds[static_cast<std::size_t>(deepest - d)]; };
  const auto down_to = [&](int d) -> Round& { return rounds[static_cast<std::size_t>(deepest + d)]; };
  const int here = depth[static_cast<std::size_t>(rank)], parent = forest.parent[static_cast<std::size_t>(rank)];
  for (const int child : forest.children[static_cast<std::size_t>(rank)]) {
    up_from(here + 1).taken.push_back({child, inside(child)});
    down_to(here + 1).given.push_back({child, outside(child)});
  }
  if (parent != shape::kNoParent) {
    up_from(here).given.push_back({parent, inside(rank)});
    down_to(here).taken.push_back({parent, outside(rank)});
    return rounds;
  }
  const auto me = static_cast<std::size_t>(std::find(roots.begin(), roots.end(), rank) - roots.begin());
  for (std::size_t turn = 1; turn < roots.size(); ++turn) {
    const int other = roots[(me + turn) % roots.size()];
    up_from(0).given.push_back({other, inside(rank)});
    up_from(0).taken.push_back({other, inside(other)});
  }
  return rounds;
}

Rounds prop_rounds(const Request& request) {
  const Groups& nodes = request.shared->groups(topology::Level::node);
  const Group& here = nodes.of(request.rank);
  const auto blocks_of = [&](const Range& of_nodes) {
    std::vector<int> blocks;
    for (std::uint32_t i = 0; i < of_nodes.count; ++i) {
      const Group& node = nodes[(of_nodes.first + i) % of_nodes.of];
      blocks.insert(blocks.end(), node.begin(), node.end());
    }
    return runs_of(std::move(blocks), request.ranks);
  };
  const auto other = [&](std::size_t ahead) {  // the rank that is `ahead` places further in this node
    return here[(static_cast<std::size_t>(std::find(here.begin(), here.end(), request.rank) - here.begin()) + ahead) % here.size()];
  };

  Rounds rounds(1);
  for (std::size_t ahead = 1; ahead < here.size(); ++ahead) {
    rounds.front().given.push_back({other(here.size() - ahead), {request.block(request.rank)}});
    rounds.front().taken.push_back({other(ahead), {request.block(other(ahead))}});
  }
  if (nodes.size() == 1) return rounds;
  const auto home = static_cast<int>(nodes.index_of(request.rank)), count = static_cast<int>(nodes.size());
  const int leader = nodes.leader_of(request.rank);
  const bool leads = request.rank == leader;
  for (const Round& between : bruck_rounds(count, home, request.radix)) {
    Round& round = rounds.emplace_back();
    if (!leads) continue;
    const auto at_leaders = [&](std::vector<Parcel>& to, const std::vector<Parcel>& parcels) {
      for (const Parcel& parcel : parcels)
        to.push_back({nodes.leaders()[static_cast<std::size_t>(parcel.rank)], blocks_of(parcel.blocks.front())});
    };
    at_leaders(round.given, between.given);
    at_leaders(round.taken, between.taken);
  }
  const auto rest = blocks_of(chunks_from(home + 1, count - 1, count));
  Round& last = rounds.emplace_back();
  if (!leads) last.taken.push_back({leader, rest});
  for (std::size_t ahead = 1; leads && ahead < here.size(); ++ahead) last.given.push_back({other(ahead), rest});
  return rounds;
}

}  // namespace copse::algorithms
