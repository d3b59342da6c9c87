// alltoall, hierarchical: what the ranks of one node have for those of another crosses the wire as one message (Kumar et al.
// 2008). Each rank leads its node towards some of the other nodes, so that all processors pack. It takes every rank's blocks
// for such a node, sends them to the rank that leads there towards its own node, and gives its node what comes from there.
// Inside a node all blocks go directly, as in flat. Ranks handle blocks of other ranks, so all must be of one size.
// Cost: 2 a + (P-r) n b for r ranks on each of N nodes, and (N-1)/r (a + r^2 n b) on the wire.
// Wins: small blocks between nodes of many ranks: (N-1)/r messages a rank, and not P-r.
#include "algorithms/exchange.hpp"

namespace copse::algorithms {

namespace {

using plan::Builder;
using plan::Operand;
using plan::Range;

// What one rank has to do with another node, and where that node's blocks begin, among those that lie packed here.
struct Talk {
  std::size_t node;
  std::uint32_t base;
};

class Nodes {
 public:
  explicit Nodes(const Request &request) : groups_(request.shared->groups(topology::Level::node)) {}

  [[nodiscard]] const Groups &groups() const { return groups_; }
  [[nodiscard]] int speaker(std::size_t of, std::size_t with) const {
    const std::size_t ahead = (with + groups_.size() - of) % groups_.size();
    return groups_[of][(ahead - 1) % groups_[of].size()];
  }
  // The talks of a member of a node; the last is nobody's, and says how many blocks there are in all.
  [[nodiscard]] std::vector<Talk> talks(std::size_t node, int member) const {
    std::vector<Talk> result;
    std::uint32_t base = 0;
    for (std::size_t ahead = 1; ahead < groups_.size(); ++ahead) {
      const std::size_t other = (node + ahead) % groups_.size();
      if (speaker(node, other) != member) continue;
      result.push_back({other, base});
      base += static_cast<std::uint32_t>(groups_[node].size() * groups_[other].size());
    }
    result.push_back({node, base});
    return result;
  }

 private:
  const Groups &groups_;
};

}  // namespace

// What a rank shares inside its node, or packs for others.
std::uint32_t alltoall_hierarchical_pack(const Request &request) {
  const Nodes nodes(request);
  const auto &groups = nodes.groups();
  auto most = static_cast<std::uint32_t>(request.ranks);
  for (std::size_t node = 0; node < groups.size(); ++node)
    for (const int member : groups[node]) most = std::max(most, nodes.talks(node, member).back().base);
  return most;
}

plan::Plan alltoall_hierarchical(const Request &request) {
  Builder builder = request.builder();
  const int rank = request.rank;
  const Nodes nodes(request);
  const auto &groups = nodes.groups();
  const Group &here = groups.of(rank);
  const std::size_t home = groups.index_of(rank);
  std::vector<int> others;
  for (const int other : request.others())
    if (builder.shares_memory_with(other)) others.push_back(other);
  builder.pack(alltoall_hierarchical_pack(request));
  if (groups.size() > 1) builder.give_from_scratch();
  auto mine = nodes.talks(home, rank);
  mine.pop_back();

  builder.loop();
  std::vector<int> readers;
  std::vector<Range> parts;
  for (const int other : others) {
    parts.push_back(request.pair(rank, other));
    auto talks = nodes.talks(home, other);
    talks.pop_back();
    for (const Talk &talk : talks)
      for (const Range &run : pair_runs(request, rank, groups[talk.node])) parts.push_back(run);
    readers.resize(parts.size(), other);
  }
  builder.share_input(0, readers, parts);

  for (const Talk &talk : mine) {
    std::vector<Operand> values;
    std::uint32_t index = talk.base;
    for (const int from : here) {
      for (const Range &run : pair_runs(request, from, groups[talk.node])) {
        const Operand place = here.size() > 1 ? placed(builder.scratch(1, run), index) : Builder::input(run);
        builder.copy(place, from == rank ? Builder::input(run) : builder.take_part(0, from, run, place));
        values.push_back(place);
        index += run.count;
      }
    }
    builder.post(2, std::vector<int>(values.size(), nodes.speaker(talk.node, home)), values);
  }

  const Range own = request.pair(rank, rank);
  builder.copy(Builder::output(own), Builder::input(own));
  for (const int other : others) {
    const Range theirs = request.pair(other, rank);
    builder.copy(Builder::output(theirs), builder.take_part(0, other, theirs, Builder::output(theirs)));
  }

  for (std::size_t number = 0; number < mine.size(); ++number) {
    builder.portion(static_cast<int>(number));
    const int there = nodes.speaker(mine[number].node, home);
    const auto place = [&](Range blocks, std::uint32_t index) {
      return here.size() > 1 ? placed(builder.open(1, others, builder.scratch(0, blocks)), index)
                             : Builder::output(blocks);
    };
    std::vector<int> to;
    std::vector<Operand> values, kept;
    std::uint32_t index = mine[number].base;
    for (const int from : groups[mine[number].node]) {
      const std::uint32_t begin = index;
      for (const Range &run : pair_runs(request, from, here)) {
        static_cast<void>(builder.take(2, there, Builder::input(run), place(run, index)));
        index += run.count;
      }
      for (std::size_t i = 0; i < here.size(); ++i) {
        const Operand value = place(request.pair(from, here[i]), begin + static_cast<std::uint32_t>(i));
        if (here[i] == rank) kept.push_back(value);
        if (here[i] == rank) continue;
        to.push_back(here[i]);
        values.push_back(value);
      }
    }
    builder.post(1, to, values);
    for (const Operand &value : kept) builder.copy(Builder::output(value.range), value);
  }
  for (const int other : others) {
    auto talks = nodes.talks(home, other);
    talks.pop_back();
    for (std::size_t number = 0; number < talks.size(); ++number) {
      builder.portion(static_cast<int>(number));
      std::uint32_t index = talks[number].base;
      const auto me = static_cast<std::uint32_t>(std::find(here.begin(), here.end(), rank) - here.begin());
      for (const int from : groups[talks[number].node]) {
        const Range block = request.pair(from, rank);
        const Operand given = placed(builder.scratch(0, block), index + me);
        const Operand theirs = builder.take(1, other, given, Builder::output(block));
        const bool staged = theirs.space == plan::Space::line || theirs.space == plan::Space::slot;
        builder.copy(Builder::output(block), staged ? placed(theirs, index + me) : theirs);
        index += static_cast<std::uint32_t>(here.size());
      }
    }
  }
  builder.portion(0);
  builder.reclaim_input(others);
  return builder.finish();
}

}  // namespace copse::algorithms
