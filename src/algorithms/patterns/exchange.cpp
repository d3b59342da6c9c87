// The code that runs schedules, forwards and backwards.
#include "algorithms/patterns/exchange.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "algorithms/patterns/doubling.hpp"

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

// Returns the runs of blocks in `parts` for which `wanted` holds.
template <class Wanted>
std::vector<Range> runs_where(const std::vector<Range>& parts, Wanted&& wanted) {
  std::vector<Range> runs;
  for (const Range& blocks : parts) {
    bool open = false;
    for (std::uint32_t i = 0; i < blocks.count; ++i) {
      const std::uint32_t block = (blocks.first + i) % blocks.of;
      const bool takes = wanted(block);
      if (takes && open) ++runs.back().count;
      if (takes && !open) runs.push_back({block, 1, blocks.of});
      open = takes;
    }
  }
  return runs;
}

// A set of blocks.
class Blocks {
 public:
  explicit Blocks(int ranks) : members_(static_cast<std::size_t>(ranks)) {}

  void add(const Range& blocks) {
    for (std::uint32_t i = 0; i < blocks.count; ++i) members_[(blocks.first + i) % blocks.of] = true;
  }
  void add(const std::vector<Parcel>& parcels) {
    for (const Parcel& parcel : parcels)
      for (const Range& blocks : parcel.blocks) add(blocks);
  }
  [[nodiscard]] bool has(std::uint32_t block) const { return members_[block % members_.size()]; }

  // Returns the runs of blocks in `parts` that are members of this set or, if `members` is false, that are not.
  [[nodiscard]] std::vector<Range> select(const std::vector<Range>& parts, bool members) const {
    return runs_where(parts, [&](std::uint32_t block) { return has(block) == members; });
  }

 private:
  std::vector<bool> members_;
};

}  // namespace

Rounds lacking(Rounds rounds, int rank, const Held& held) {
  const auto leave_out = [&](std::vector<Parcel>& parcels, const auto& taker) {
    for (Parcel& parcel : parcels) {
      Blocks there(static_cast<int>(held.size()));
      there.add(held[static_cast<std::size_t>(taker(parcel))]);
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

namespace {

// The blocks of this rank in an allgather. If ranks of its node take blocks from a line or slot, each of these blocks is put there,
// once. Those who wait for it come first: it is copied to the output when it has been posted.
class Gathered {
 public:
  // `place` is the line or slot, or the output. `mine` is what this rank has at the beginning.
  Gathered(Builder& builder, const Request& request, const Rounds& rounds, Operand place, Operand mine)
      : builder_(builder), place_(place), mine_(mine), there_(request.ranks), left_(static_cast<std::size_t>(request.ranks)) {
    for (std::size_t i = 0; i < rounds.size(); ++i)
      for (const Parcel& parcel : rounds[i].given)
        if (builder.shares_memory_with(parcel.rank))
          for (const Range& blocks : parcel.blocks)
            for (std::uint32_t n = 0; n < blocks.count; ++n) left_[(blocks.first + n) % blocks.of] = i + 1;
    later_.emplace_back(Builder::output(mine.range), mine);
    if (mine.space == place.space) there_.add(mine.range);
    if (!staged() || mine.space == place.space) bring_home();
  }

  // Returns where a rank takes these blocks. Messages to other nodes leave from the output.
  [[nodiscard]] Operand given_to(int rank, const Range& blocks) {
    const bool near = builder_.shares_memory_with(rank);
    if (!near) bring_home();
    if (near && staged()) put_there(there_.select({blocks}, false), mine_);
    return near ? part_of(place_, blocks) : Builder::output(blocks);
  }

  // Takes blocks in a round.
  void take(const Operand& theirs, const Range& blocks, std::size_t round) {
    const Operand home = Builder::output(blocks);
    const auto needed = runs_where({blocks}, [&](std::uint32_t block) { return staged() && left_[block] > round + 1; });
    put_there(needed, theirs);
    if (theirs != home && needed == std::vector{blocks}) later_.emplace_back(home, part_of(place_, blocks));
    else builder_.copy(home, theirs);
  }

  void bring_home() {
    for (const auto& [home, source] : later_) builder_.copy(home, source);
    later_.clear();
  }

 private:
  [[nodiscard]] bool staged() const { return place_.space != plan::Space::output; }
  void put_there(const std::vector<Range>& runs, const Operand& source) {
    for (const Range& run : runs) {
      builder_.copy(part_of(place_, run), part_of(source, run));
      there_.add(run);
    }
  }

  Builder& builder_;
  Operand place_, mine_;
  Blocks there_;  // blocks that lie in the line or slot
  std::vector<std::size_t> left_;  // by block: the last round, counted from 1, in which a rank of this node takes it there
  std::vector<std::pair<Operand, Operand>> later_;  // copies to the output that can wait
};

}  // namespace

void allgather_in(Builder& builder, const Request& request, int area, const Rounds& rounds, From from, Operand mine) {
  const auto whole = [&](int owner) { return request.block(from == From::own ? owner : 0, request.ranks); };
  const auto readers = ranks_of(rounds, &Round::given);
  builder.pack(whole(0).count);
  Gathered gathered(builder, request, rounds, builder.open(area, readers, Builder::output(whole(request.rank))), mine);
  for (std::size_t i = 0; i < rounds.size(); ++i) {
    builder.portion(static_cast<int>(i));
    std::vector<int> to;
    std::vector<Operand> values;
    for (const Parcel& parcel : rounds[i].given) {
      for (const Range& blocks : parcel.blocks) {
        to.push_back(parcel.rank);
        values.push_back(gathered.given_to(parcel.rank, blocks));
      }
    }
    builder.post(area, to, values);
    gathered.bring_home();
    for (const Parcel& parcel : rounds[i].taken) {
      for (const Range& blocks : parcel.blocks) {
        const Operand home = Builder::output(blocks);
        gathered.take(builder.take(area, parcel.rank, home, home, whole(parcel.rank)), blocks, i);
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
        if (!builder_.stages(parcel.rank)) {
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
        // A user's operator needs no copy if the target is its second operand.
        builder_.reduce(end ? result_ : place(blocks), part_of(theirs, blocks), now(blocks));
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

  const auto has_own = [own = static_cast<std::uint32_t>(request.rank)](const Range& blocks) {
    return (own + blocks.of - blocks.first) % blocks.of < blocks.count;
  };
  const Parcel* last = nullptr;  // of the parcels for this rank's own block, the one that comes last (rounds run backwards)
  for (std::size_t i = rounds.size(); i-- > 0;) {
    for (const Parcel& parcel : rounds[i].given)
      if (std::any_of(parcel.blocks.begin(), parcel.blocks.end(), has_own)) last = &parcel;
  }
  struct Peer {
    Rounds rounds;
    std::size_t left;
    Blocks combined;  // blocks that the peer has combined with something before the round in hand
  };
  std::map<int, Peer> peers;
  const auto combined_by = [&](int rank, std::size_t before) -> const Blocks& {
    auto known = peers.find(rank);
    if (known == peers.end()) {
      Rounds theirs = rounds_of(rank);
      const std::size_t count = theirs.size();
      known = peers.emplace(rank, Peer{std::move(theirs), count, Blocks(request.ranks)}).first;
    }
    Peer& peer = known->second;
    while (peer.left > before + 1) peer.combined.add(peer.rounds[--peer.left].given);
    return peer.combined;
  };
  Partials mine(builder, request, area, rounds, {home, 0, -1, whole(request.rank)}, result);
  for (std::size_t i = rounds.size(); i-- > 0;) {
    builder.portion(static_cast<int>(rounds.size() - 1 - i));
    mine.give(rounds[i].taken);
    for (const Parcel& parcel : rounds[i].given) {
      const Blocks& theirs = combined_by(parcel.rank, i);
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
