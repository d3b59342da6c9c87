// The code that runs schedules, forwards and backwards.
#include "algorithms/patterns/exchange.hpp"

#include <algorithm>

namespace copse::algorithms {

using plan::Builder;
using plan::Operand;
using plan::Range;

namespace {

std::vector<int> ranks_of(const Rounds& rounds, std::vector<Parcel> Round::* side) {
  std::vector<int> result;
  for (const Round& round : rounds)
    for (const Parcel& parcel : round.*side)
      if (std::find(result.begin(), result.end(), parcel.rank) == result.end()) result.push_back(parcel.rank);
  return result;
}

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

Rounds lacking(Rounds rounds, int rank, const Held& held) {
  const auto leave_out = [&](std::vector<Parcel>& parcels, const auto& taker) {
    for (Parcel& parcel : parcels) {
      Blocks there(static_cast<int>(held.size()));
      there.add({{0, {held[static_cast<std::size_t>(taker(parcel))]}}});
      parcel.blocks = there.select(parcel.blocks, false);
    }
    std::erase_if(parcels, [](const Parcel& parcel) { return parcel.blocks.empty(); });
  };
  for (Round& round : rounds) {
    leave_out(round.given, [](const Parcel& parcel) { return parcel.rank; });
    leave_out(round.taken, [&](const Parcel&) { return rank; });
  }
  return rounds;
}

void allgather_in(Builder& builder, const Request& request, int area, const Rounds& rounds, From from, Operand mine) {
  const auto whole = [&](int owner) { return request.block(from == From::own ? owner : 0, request.ranks); };
  const auto given_from = [&](std::size_t first) {
    Blocks blocks(request.ranks);
    for (std::size_t i = first; i < rounds.size(); ++i) blocks.add(rounds[i].given);
    return blocks;
  };
  const auto readers = ranks_of(rounds, &Round::given);
  builder.pack(whole(0).count);

  // If others take blocks from a line or slot, each block that this rank gives is put there, once. Those who wait for it come first:
  // it is copied to the output only when it has been posted.
  const Operand place = builder.open(area, readers, Builder::output(whole(request.rank)));
  const bool staged = place.space != plan::Space::output;
  std::vector<std::pair<Operand, Operand>> later;
  const auto bring_home = [&] {
    for (const auto& [home, from_where] : later) builder.copy(home, from_where);
    later.clear();
  };
  const auto bring_to_place = [&](const std::vector<Range>& runs, const Operand& source) {
    for (const Range& run : runs) builder.copy(part_of(place, run), part_of(source, run));
  };
  later.emplace_back(Builder::output(mine.range), mine);
  if (!staged || mine.space == place.space) bring_home();
  if (staged) bring_to_place(given_from(0).select({mine.range}, true), mine);
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
    bring_home();
    const Blocks wanted = given_from(i + 1);
    for (const Parcel& parcel : rounds[i].taken) {
      for (const Range& blocks : parcel.blocks) {
        const Operand home = Builder::output(blocks);
        const Operand theirs = builder.take(area, parcel.rank, home, home, whole(parcel.rank));
        if (!staged) {
          builder.copy(home, theirs);
          continue;
        }
        const std::vector<Range> runs = wanted.select({blocks}, true);
        bring_to_place(runs, theirs);
        if (theirs == home) continue;
        if (runs == std::vector{blocks}) later.emplace_back(home, part_of(place, blocks));
        else builder.copy(home, theirs);
      }
    }
  }
  bring_home();  // a rank that is alone has no rounds
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
  [[nodiscard]] bool is_own(const Range& blocks) const { return blocks == request_.block(request_.rank); }
  [[nodiscard]] Operand place(Range blocks) { return part_of(builder_.open(area_, readers_, all_), blocks); }

  Builder& builder_;
  const Request& request_;
  int area_;
  std::vector<int> readers_;
  Operand all_, result_;
  Blocks touched_;  // blocks that have been combined with something
  bool finished_ = false;  // this rank's own block lies in `result_`
};

}  // namespace

void reduce_scatter_in(Builder& builder, const Request& request, int area, const std::function<Rounds(int)>& rounds_of, From from,
                       plan::Space home, Operand result) {
  const auto whole = [&](int owner) { return request.block(from == From::own ? owner : 0, request.ranks); };
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
  builder.copy(result, mine.now(request.block(request.rank)));
}

}  // namespace copse::algorithms
