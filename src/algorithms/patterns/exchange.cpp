// Schedules, and the code that runs them.
#include "algorithms/patterns/exchange.hpp"

#include <algorithm>
#include <bit>

namespace copse::algorithms {

using plan::Builder;
using plan::Operand;
using plan::Range;

namespace {

Range range(int first, int count, int ranks) {
  return {static_cast<std::uint32_t>((first + ranks) % ranks), static_cast<std::uint32_t>(count),
          static_cast<std::uint32_t>(ranks)};
}

bool staged(const Operand& place) { return place.space == plan::Space::line || place.space == plan::Space::slot; }

std::vector<int> ranks_of(const Rounds& rounds, std::vector<Parcel> Round::* side) {
  std::vector<int> result;
  for (const Round& round : rounds)
    for (const Parcel& parcel : round.*side)
      if (std::find(result.begin(), result.end(), parcel.rank) == result.end()) result.push_back(parcel.rank);
  return result;
}

}  // namespace

std::vector<Range> runs_of(std::vector<int> blocks, int ranks) {
  std::sort(blocks.begin(), blocks.end());
  std::vector<Range> runs;
  for (const int block : blocks) {
    if (!runs.empty() && static_cast<int>(runs.back().first + runs.back().count) == block) {
      ++runs.back().count;
    } else {
      runs.push_back(range(block, 1, ranks));
    }
  }
  return runs;
}

// Schedules ---------------------------------------------------------------------------------------------------

Rounds ring_rounds(int ranks, int rank) {
  Rounds rounds;
  for (int step = 0; step + 1 < ranks; ++step)
    rounds.push_back({{{(rank + 1) % ranks, {range(rank - step, 1, ranks)}}},
                      {{(rank + ranks - 1) % ranks, {range(rank + ranks - 1 - step, 1, ranks)}}}});
  return rounds;
}

Rounds doubling_rounds(int ranks, int rank) {
  Rounds rounds;
  for (const Halving& half : halvings(ranks, rank)) {
    Round& round = rounds.emplace_back();
    for (const int reader : half.sources) round.given.push_back({reader, {half.kept}});
    round.taken.push_back({half.reader, {half.given}});
  }
  rounds.resize(std::bit_width(static_cast<unsigned>(ranks - 1)));  // a rank that is alone sooner than others gets empty rounds
  std::reverse(rounds.begin(), rounds.end());
  return rounds;
}

namespace {

// Adds a shift to the round. The rank takes `count` blocks from the rank `distance` ahead, beginning with that rank's own. It
// gives as many, beginning with its own, to the rank `distance` behind.
void add_shift(Round& round, int ranks, int rank, int distance, int count) {
  round.given.push_back({(rank + ranks - distance) % ranks, {range(rank, count, ranks)}});
  round.taken.push_back({(rank + distance) % ranks, {range(rank + distance - ranks, count, ranks)}});
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
  const auto pair = [&](int of, int offset) { return range((of / 2 * 2 + 2 * offset + 2 * ranks) % ranks, 2, ranks); };
  Rounds rounds{{{{neighbor(-sign), {range(rank, 1, ranks)}}}, {{neighbor(-sign), {range(neighbor(-sign), 1, ranks)}}}}};
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
  const auto rest = blocks_of(range(home + 1, count - 1, count));
  Round& last = rounds.emplace_back();
  if (!leads) last.taken.push_back({leader, rest});
  for (std::size_t ahead = 1; leads && ahead < here.size(); ++ahead) last.given.push_back({other(ahead), rest});
  return rounds;
}

// Code that runs schedules ------------------------------------------------------------------------------------

namespace {

// A set of blocks.
class Blocks {
 public:
  explicit Blocks(int ranks) : members_(static_cast<std::size_t>(ranks)) {}

  void add(const std::vector<Parcel>& parcels) {
    for (const Parcel& parcel : parcels)
      for (const Range& blocks : parcel.blocks)
        for (std::uint32_t i = 0; i < blocks.count; ++i) members_[(blocks.first + i) % blocks.of] = true;
  }
  [[nodiscard]] bool has(std::uint32_t block) const { return members_[block % members_.size()]; }

  // Returns the runs of blocks in `parts` that are members of this set or, if `members` is false, that are not.
  [[nodiscard]] std::vector<Range> select(const std::vector<Range>& parts, bool members) const {
    std::vector<Range> runs;
    for (const Range& blocks : parts) {
      bool open = false;
      for (std::uint32_t i = 0; i < blocks.count; ++i) {
        const bool wanted = has(blocks.first + i) == members;
        if (wanted && open) ++runs.back().count;
        if (wanted && !open) runs.push_back({(blocks.first + i) % blocks.of, 1, blocks.of});
        open = wanted;
      }
    }
    return runs;
  }

 private:
  std::vector<bool> members_;
};

}  // namespace

void allgather_in(Builder& builder, const Request& request, int area, const Rounds& rounds, From from) {
  const auto whole = [&](int owner) { return range(from == From::own ? owner : 0, request.ranks, request.ranks); };
  const Range mine = request.block(request.rank);
  const auto readers = ranks_of(rounds, &Round::given);
  builder.pack(whole(0).count);

  // The blocks of this rank lie in its output. If others take them from a line or slot, each block is also put there, once.
  const Operand place = builder.open(area, readers, Builder::output(whole(request.rank)));
  builder.copy(Builder::output(mine), Builder::input(mine));
  builder.copy(part_of(place, mine), Builder::output(mine));
  for (std::size_t i = 0; i < rounds.size(); ++i) {
    builder.portion(static_cast<int>(i));
    std::vector<int> to;
    std::vector<Operand> values;
    for (const Parcel& parcel : rounds[i].given) {
      for (const Range& blocks : parcel.blocks) {
        to.push_back(parcel.rank);
        values.push_back(part_of(place, blocks));
      }
    }
    builder.post(area, to, values);
    Blocks wanted(request.ranks);  // blocks that this rank gives in later rounds
    for (std::size_t later = i + 1; later < rounds.size(); ++later) wanted.add(rounds[later].given);
    for (const Parcel& parcel : rounds[i].taken) {
      for (const Range& blocks : parcel.blocks) {
        const Operand home = Builder::output(blocks);
        builder.copy(home, builder.take(area, parcel.rank, home, home, whole(parcel.rank)));
        for (const Range& run : wanted.select({blocks}, true)) builder.copy(part_of(place, run), Builder::output(run));
      }
    }
  }
  builder.portion(0);
  builder.reclaim(readers);
}

namespace {

// The partial results of this rank in a reduce-scatter. A block lies in the input until something has been combined with it.
class Partials {
 public:
  // `all` is where the partial results lie. `result` is where this rank's own block lies when it is finished.
  Partials(Builder& builder, const Request& request, int area, const Rounds& rounds, Operand all, Operand result)
      : builder_(builder), request_(request), area_(area), readers_(ranks_of(rounds, &Round::taken)), all_(all), result_(result),
        touched_(request.ranks) {}

  // Gives, in a round, the blocks that this rank takes in the same round of the allgather.
  void give(const std::vector<Parcel>& parcels) {
    std::vector<int> to;
    std::vector<Operand> values;
    for (const Parcel& parcel : parcels) {
      // Blocks that have not been combined with anything come first. They are not copied if the reader can read the input.
      for (const Range& blocks : touched_.select(parcel.blocks, false)) {
        if (builder_.gives_in_place(parcel.rank)) {
          builder_.give(area_, std::vector{parcel.rank}, Builder::input(blocks));
          continue;
        }
        builder_.copy(place(blocks), Builder::input(blocks));
        to.push_back(parcel.rank);
        values.push_back(place(blocks));
      }
      for (const Range& blocks : touched_.select(parcel.blocks, true)) {
        to.push_back(parcel.rank);
        values.push_back(place(blocks));
      }
    }
    builder_.post(area_, to, values);
  }

  // Combines these blocks with those of another rank. If `last` is set, nothing more is combined with this rank's own block
  // later.
  void combine(Range with, Operand theirs, bool last) {
    for (const bool again : {false, true}) {
      for (const Range& blocks : touched_.select({with}, again)) {
        const bool end = last && is_own(blocks);
        builder_.reduce(end ? result_ : place(blocks), now(blocks), part_of(theirs, blocks));
        finished_ |= end;
      }
    }
  }
  void note_combined(const Parcel& parcel) { touched_.add({parcel}); }

  // Returns where these blocks lie now.
  [[nodiscard]] Operand now(Range blocks) {
    if (finished_ && is_own(blocks)) return result_;
    return touched_.has(blocks.first) ? place(blocks) : Builder::input(blocks);
  }

 private:
  [[nodiscard]] bool is_own(const Range& blocks) const { return blocks == tile_of(request_, request_.rank); }
  [[nodiscard]] Operand place(Range blocks) { return part_of(builder_.open(area_, readers_, all_), blocks); }

  Builder& builder_;
  const Request& request_;
  int area_;
  std::vector<int> readers_;
  Operand all_, result_;
  Blocks touched_;         // blocks that have been combined with something
  bool finished_ = false;  // this rank's own block lies in `result_`
};

}  // namespace

void reduce_scatter_in(Builder& builder, const Request& request, int area, const std::function<Rounds(int)>& rounds_of, From from,
                       plan::Space home, Operand result) {
  const auto whole = [&](int owner) { return range(from == From::own ? owner : 0, request.ranks, request.ranks); };
  const Rounds rounds = rounds_of(request.rank);
  builder.pack(whole(0).count);
  if (home == plan::Space::slot) builder.keep_in_slots();

  const Parcel* last = nullptr;  // of the parcels for this rank's own block, the one that comes last (rounds run backwards)
  for (std::size_t i = rounds.size(); i-- > 0;) {
    for (const Parcel& parcel : rounds[i].given) {
      Blocks blocks(request.ranks);
      blocks.add({parcel});
      if (blocks.has(static_cast<std::uint32_t>(request.rank))) last = &parcel;
    }
  }
  Partials mine(builder, request, area, rounds, {home, 0, -1, whole(request.rank)}, result);
  for (std::size_t i = rounds.size(); i-- > 0;) {
    builder.portion(static_cast<int>(rounds.size() - 1 - i));
    mine.give(rounds[i].taken);
    for (const Parcel& parcel : rounds[i].given) {
      Blocks theirs(request.ranks);  // blocks that the other rank has combined with something
      const Rounds before = rounds_of(parcel.rank);
      for (std::size_t earlier = i + 1; earlier < before.size(); ++earlier) theirs.add(before[earlier].given);
      for (const bool combined : {false, true}) {
        for (const Range& run : theirs.select(parcel.blocks, combined)) {
          const Operand value = combined ? Operand{home, 0, -1, run} : Builder::input(run);
          const Operand item = builder.take(area, parcel.rank, value, builder.scratch(0, run), whole(parcel.rank));
          mine.combine(run, item, &parcel == last);
        }
      }
      mine.note_combined(parcel);
    }
  }
  builder.portion(0);
  builder.copy(result, mine.now(tile_of(request, request.rank)));
}

namespace {

// One rank of a socket, whose ranks stand in a ring. `home` is where partial results lie (exchange.hpp).
class SocketRing {
 public:
  SocketRing(Builder& builder, const Request& request, plan::Space home)
      : builder_(builder), request_(request), sockets_(request.shared->groups(topology::Level::package)),
        here_(sockets_.of(request.rank)),
        me_(static_cast<std::size_t>(std::find(here_.begin(), here_.end(), request.rank) - here_.begin())), home_(home),
        whole_(range(0, request.ranks, request.ranks)), mine_(tile_of(request, request.rank)) {}

  // Combines all tiles over the ranks of this socket. The tiles go round the ring and end at their positions. Returns where
  // this rank's own tile then lies, which may be `result`.
  [[nodiscard]] Operand go_round(Operand result) {
    std::vector<int> readers;  // ranks that take this socket's part of their tiles
    std::vector<Range> parts;
    for (const Range& tile : tiles_of(me_)) {
      if (tile == mine_) continue;
      readers.push_back(static_cast<int>(tile.first));
      parts.push_back(tile);
    }
    const std::size_t size = here_.size();
    if (size == 1) {
      builder_.give_parts(2, readers, parts, Builder::input(whole_));
      return Builder::input(mine_);
    }
    const int next = here_[(me_ + 1) % size], previous = here_[(me_ + size - 1) % size];
    const auto first = tiles_of((me_ + size - 1) % size);
    builder_.give_parts(0, std::vector<int>(first.size(), next), first, Builder::input(whole_));
    Operand at_hand = Builder::input(mine_);
    std::vector<Operand> values;
    for (std::size_t step = 0; step + 1 < size; ++step) {
      const bool last = step + 2 == size;
      builder_.portion(static_cast<int>(step));
      values.clear();
      for (const Range& tile : tiles_of((me_ + 2 * size - 2 - step) % size)) {
        const Operand theirs = builder_.take(0, previous, offered(step == 0, tile), builder_.scratch(0, tile), whole_);
        if (last && tile == mine_) {
          builder_.reduce(result, theirs, Builder::input(tile));
          at_hand = result;
          continue;
        }
        const Operand all{home_, 0, -1, whole_};
        values.push_back(part_of(last ? builder_.open(2, readers, all) : builder_.open(0, std::vector{next}, all), tile));
        builder_.reduce(values.back(), theirs, Builder::input(tile));
      }
      builder_.portion(last ? 0 : static_cast<int>(step) + 1);
      if (!last) builder_.post(0, std::vector<int>(values.size(), next), values);
    }
    builder_.post(2, readers, values);
    return at_hand;
  }

  // Combines the parts of all sockets in this rank's tile. The part of its own socket lies at `at_hand`.
  void fold_sockets(Operand at_hand, Operand result) {
    std::vector<Fetch> items;
    for (const Group& socket : sockets_) {
      if (&socket == &here_) {
        items.emplace_back([at_hand] { return at_hand; });
        continue;
      }
      const int from = socket[me_ % socket.size()];
      const Operand given = offered(socket.size() == 1, mine_);
      items.emplace_back([this, from, given] { return builder_.take(2, from, given, builder_.scratch(0, mine_), whole_); });
    }
    fold(builder_, result, items, sockets_.index_of(request_.rank));
  }

 private:
  [[nodiscard]] std::vector<Range> tiles_of(std::size_t position) const {  // the tiles that end at this position of the socket
    std::vector<Range> tiles;
    for (const Group& socket : sockets_)
      for (std::size_t i = position; i < socket.size(); i += here_.size()) tiles.push_back(tile_of(request_, socket[i]));
    return tiles;
  }
  [[nodiscard]] Operand offered(bool untouched, Range tile) const {
    return untouched ? Builder::input(tile) : Operand{home_, 0, -1, tile};
  }

  Builder& builder_;
  const Request& request_;
  const Groups& sockets_;
  const Group& here_;
  std::size_t me_;
  plan::Space home_;
  Range whole_, mine_;
};

}  // namespace

void reduce_scatter_sockets(Builder& builder, const Request& request, plan::Space home, Operand result) {
  builder.pack(static_cast<std::uint32_t>(request.ranks));
  if (home == plan::Space::slot) builder.keep_in_slots();
  SocketRing ring(builder, request, home);
  const Operand at_hand = ring.go_round(result);
  ring.fold_sockets(at_hand, result);
}

std::vector<Range> pair_runs(const Request& request, int from, const Group& to) {
  std::vector<Range> runs;
  for (const int rank : to) {
    const Range block = request.pair(from, rank);
    if (!runs.empty() && runs.back().first + runs.back().count == block.first) {
      ++runs.back().count;
    } else {
      runs.push_back(block);
    }
  }
  return runs;
}

Operand placed(Operand place, std::uint32_t index) {
  place.origin = (place.range.first + place.range.of - index) % place.range.of;
  return place;
}

// TwoPlaces -------------------------------------------------------------------------------------------------------

TwoPlaces::TwoPlaces(Builder& builder, int area, int rounds)
    : builder_(builder), area_(area), waits_for_(static_cast<std::size_t>(rounds), -1) {}

void TwoPlaces::await_turn(int round) {
  if (round < 2 || waits_for_[static_cast<std::size_t>(round - 2)] < 0) return;
  builder_.portion(round - 2);
  builder_.await_signal(area_ + 2, waits_for_[static_cast<std::size_t>(round - 2)]);
}

void TwoPlaces::give(int round, int reader, Operand value) {
  await_turn(round);
  builder_.portion(round / 2);
  builder_.give(area(round), std::vector{reader}, value);
  const bool copied = builder_.stages();
  if (copied && builder_.shares_memory_with(reader)) waits_for_[static_cast<std::size_t>(round)] = reader;
}

Operand TwoPlaces::open(int round, int reader, Range block) {
  await_turn(round);
  const Operand place = builder_.open(area(round), std::vector{reader}, opened(block));
  if (builder_.shares_memory_with(reader)) waits_for_[static_cast<std::size_t>(round)] = reader;
  return place;
}

void TwoPlaces::post(int round, int reader, Operand value) {
  builder_.portion(round / 2);
  builder_.post(area(round), std::vector{reader}, value);
}

Operand TwoPlaces::take(int round, int from, Operand as, Operand home) {
  builder_.portion(round / 2);
  return builder_.take(area(round), from, as, home);
}

void TwoPlaces::taken(int round, int from, Operand value) {
  if (!staged(value) || static_cast<std::size_t>(round) + 2 >= waits_for_.size()) return;
  builder_.portion(round);
  builder_.signal(area_ + 2, std::vector{from});
}

}  // namespace copse::algorithms
