// alltoall, hierarchical: the blocks from the ranks of one node to those of another cross the wire as one message (Kumar et
// al. 2008). Each rank leads its node towards some of the other nodes, so that all processors pack. A rank that leads towards
// node N takes the blocks for N from every rank of its own node, and sends them to that rank of N which leads towards its own
// node. It gives its own node the blocks that come from N. Inside a node all blocks go directly, as in flat. Ranks handle blocks
// of other ranks, so all blocks must be of one size.
// Cost: 2 a + (P-r) n b for r ranks on each of N nodes, and (N-1)/r (a + r^2 n b) on the wire.
// Wins: small blocks between nodes of many ranks: a rank sends (N-1)/r messages instead of P-r.
#include "algorithms/patterns/pairs.hpp"

namespace copse::algorithms {

namespace {

using plan::Builder;
using plan::Operand;
using plan::Range;

// A talk of a rank with another node, towards which it leads. The blocks for that node, or from it, begin at `base` among
// those that lie packed at the rank.
struct Talk {
  std::size_t node;
  std::uint32_t base;
};

class Nodes {
 public:
  explicit Nodes(const Request& request) : groups_(request.shared->groups(topology::Level::node)) {}

  [[nodiscard]] const Groups& groups() const { return groups_; }
  [[nodiscard]] int speaker(std::size_t of, std::size_t with) const {
    const std::size_t ahead = (with + groups_.size() - of) % groups_.size();
    return groups_[of][(ahead - 1) % groups_[of].size()];
  }
  // Returns the talks of a member of a node. An additional last entry has the number of all blocks as its base.
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
  const Groups& groups_;
};

// What one rank of a node does.
class Member {
 public:
  Member(Builder& builder, const Request& request, const Nodes& nodes)
      : builder_(builder), request_(request), nodes_(nodes), here_(nodes.groups().of(request.rank)),
        home_(nodes.groups().index_of(request.rank)), others_(others_here(builder, request)) {}

  [[nodiscard]] const std::vector<int>& others() const { return others_; }  // the other ranks of the node
  [[nodiscard]] std::vector<Talk> talks(int member) const {
    auto talks = nodes_.talks(home_, member);
    talks.pop_back();
    return talks;
  }

  // Shares this rank's input. Every other rank of the node gets its own block, and the blocks for the nodes towards which it
  // leads.
  void share() {
    share_here(builder_, request_, 0, [&](int other) {
      std::vector<Range> runs;
      for (const Talk& talk : talks(other))
        for (const Range& run : pair_runs(request_, request_.rank, nodes_.groups()[talk.node])) runs.push_back(run);
      return runs;
    });
  }

  // Packs the blocks that the ranks of this node have for the other node, and sends them.
  void send(const Talk& talk) {
    std::vector<Operand> values;
    std::uint32_t index = talk.base;
    for (const int from : here_) {
      for (const Range& run : pair_runs(request_, from, nodes_.groups()[talk.node])) {
        const Operand place = packs() ? placed(builder_.scratch(1, run), index) : Builder::input(run);
        builder_.copy(place, from == request_.rank ? Builder::input(run) : builder_.take_part(0, from, run, place));
        values.push_back(place);
        index += run.count;
      }
    }
    builder_.post(2, std::vector<int>(values.size(), nodes_.speaker(talk.node, home_)), values);
  }

  // Receives the blocks that the ranks of the other node have for this node, and gives them to its ranks.
  void receive(const Talk& talk) {
    const int there = nodes_.speaker(talk.node, home_);
    std::vector<int> to;
    std::vector<Operand> values, kept;
    std::uint32_t index = talk.base;
    for (const int from : nodes_.groups()[talk.node]) {
      const std::uint32_t begin = index;
      for (const Range& run : pair_runs(request_, from, nodes_.groups()[home_])) {
        static_cast<void>(builder_.take(2, there, Builder::input(run), received(run, index)));
        index += run.count;
      }
      for (std::size_t i = 0; i < here_.size(); ++i) {
        const Operand value = received(request_.pair(from, here_[i]), begin + static_cast<std::uint32_t>(i));
        if (here_[i] == request_.rank) {
          kept.push_back(value);
          continue;
        }
        to.push_back(here_[i]);
        values.push_back(value);
      }
    }
    builder_.post(1, to, values);
    for (const Operand& value : kept) builder_.copy(Builder::output(value.range), value);
  }

  // Takes this rank's blocks from those that `other` has received in a talk.
  void take_received(int other, const Talk& talk) {
    const auto me = static_cast<std::uint32_t>(std::find(here_.begin(), here_.end(), request_.rank) - here_.begin());
    std::uint32_t index = talk.base + me;
    for (const int from : nodes_.groups()[talk.node]) {
      const Range block = request_.pair(from, request_.rank);
      const Operand given = placed(builder_.scratch(0, block), index);
      const Operand theirs = builder_.take(1, other, given, Builder::output(block));
      builder_.copy(Builder::output(block), placed_if_staged(theirs, index));
      index += static_cast<std::uint32_t>(here_.size());
    }
  }

 private:
  [[nodiscard]] bool packs() const { return here_.size() > 1; }
  [[nodiscard]] Operand received(Range blocks, std::uint32_t index) {
    return packs() ? placed(builder_.open(1, others_, builder_.scratch(0, blocks)), index) : Builder::output(blocks);
  }

  Builder& builder_;
  const Request& request_;
  const Nodes& nodes_;
  const Group& here_;
  std::size_t home_;
  std::vector<int> others_;
};

}  // namespace

// Returns the most blocks that a rank shares inside its node or packs for other nodes.
std::uint32_t alltoall_hierarchical_pack(const Request& request) {
  const Nodes nodes(request);
  const auto& groups = nodes.groups();
  auto most = static_cast<std::uint32_t>(request.ranks);
  for (std::size_t node = 0; node < groups.size(); ++node)
    for (const int member : groups[node]) most = std::max(most, nodes.talks(node, member).back().base);
  return most;
}

plan::Plan alltoall_hierarchical(const Request& request) {
  Builder builder = request.builder();
  const Nodes nodes(request);
  Member me(builder, request, nodes);
  builder.pack(alltoall_hierarchical_pack(request));
  if (nodes.groups().size() > 1) builder.give_from_scratch();
  const std::vector<Talk> mine = me.talks(request.rank);

  builder.loop();
  me.share();
  for (const Talk& talk : mine) me.send(talk);
  take_blocks(builder, request, 0, me.others());
  for (std::size_t number = 0; number < mine.size(); ++number) {
    builder.portion(static_cast<int>(number));
    me.receive(mine[number]);
  }
  for (const int other : me.others()) {
    const std::vector<Talk> talks = me.talks(other);
    for (std::size_t number = 0; number < talks.size(); ++number) {
      builder.portion(static_cast<int>(number));
      me.take_received(other, talks[number]);
    }
  }
  builder.portion(0);
  builder.reclaim_input(me.others());
  return builder.finish();
}

}  // namespace copse::algorithms
