// Lets one rank of a node speak to another node for all.
#include "algorithms/patterns/talks.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "algorithms/patterns/pairs.hpp"

namespace copse::algorithms {

using plan::Builder;
using plan::Operand;
using plan::Range;

namespace {

// Finds out where the blocks of each talk begin among those that its speaker has packed.
void place(std::vector<Talk>& talks, bool (*packs)(const Talk&)) {
  std::map<int, std::uint32_t> packed;  // blocks of the talks so far, by speaker
  for (Talk& talk : talks) {
    if (!packs(talk)) continue;
    std::uint32_t& blocks = packed[talk.here];
    talk.base = blocks;
    for (const Talk::Part& part : talk.parts) blocks += static_cast<std::uint32_t>(part.to.size());
  }
}

// Returns the ranks to which a rank gives blocks in a talk.
std::span<const int> takers_of(int rank, const Talk& talk) {
  const auto part =
      std::lower_bound(talk.parts.begin(), talk.parts.end(), rank, [](const auto& each, int from) { return each.from < from; });
  return part != talk.parts.end() && part->from == rank ? part->to : std::span<const int>();
}

// What one rank of a node does.
class Talker {
 public:
  Talker(Builder& builder, const Request& request, const Talks& talks, const std::function<bool(int, int)>& has_edge)
      : builder_(builder), request_(request), talks_(talks), has_edge_(has_edge), others_(others_here(builder, request)) {
    std::set<int> takers;
    for (const Talk& talk : talks_.coming)
      for (const Talk::Part& part : talk.parts)
        if (speaks(talk)) takers.insert(part.to.begin(), part.to.end());
    std::copy_if(others_.begin(), others_.end(), std::back_inserter(readers_), [&](int other) { return takers.contains(other); });
  }

  // Shares this rank's input. Every other rank of the node gets its own block, and the blocks for the nodes to which it speaks.
  void share() {
    input_readers_ = share_here(builder_, request_, 0, [&](int other) {
      std::vector<Range> parts;
      if (has_edge_(request_.rank, other)) parts.push_back(request_.pair(request_.rank, other));
      for (const Talk& talk : talks_.leaving) {
        if (talk.here != other) continue;
        for (const Range& run : pair_runs(request_, request_.rank, takers_of(request_.rank, talk))) parts.push_back(run);
      }
      return parts;
    });
  }

  // Takes the blocks of the ranks of this node that are for this rank.
  void take_shared() {
    std::vector<int> givers;
    for (const int other : others_)
      if (has_edge_(other, request_.rank)) givers.push_back(other);
    take_blocks(builder_, request_, 0, givers, has_edge_(request_.rank, request_.rank));
  }

  // Sends what the ranks of this node have for the nodes to which this rank speaks.
  void send() {
    for (const Talk& talk : talks_.leaving)
      if (speaks(talk)) send(talk);
  }

  // Receives what other nodes have for this node if this rank speaks to them, and gives it to the ranks of this node.
  void receive() {
    int number = 0;
    for (const Talk& talk : talks_.coming) {
      if (!speaks(talk)) continue;
      builder_.portion(number++);
      receive(talk);
    }
  }

  // Takes this rank's blocks from those that the other speakers of this node have received.
  void take_received() {
    for (const int other : others_) {
      int number = 0;
      for (const Talk& talk : talks_.coming) {
        if (talk.here != other) continue;
        builder_.portion(number++);
        take_received(talk);
      }
    }
  }

  void reclaim() {
    builder_.portion(0);
    builder_.reclaim_input(input_readers_);
    builder_.reclaim(readers_);
  }

 private:
  [[nodiscard]] bool speaks(const Talk& talk) const { return talk.here == request_.rank; }

  void send(const Talk& talk) {
    const bool packs = gathers(talk);
    std::vector<Operand> values;
    std::uint32_t index = talk.base;
    for (const auto& [from, to] : talk.parts) {
      for (const Range& run : pair_runs(request_, from, to)) {
        const Operand place = packs ? placed(builder_.scratch(1, run), index) : Builder::input(run);
        builder_.copy(place, from == request_.rank ? Builder::input(run) : builder_.take_part(0, from, run, place));
        values.push_back(place);
        index += run.count;
      }
    }
    builder_.post(2, std::vector<int>(values.size(), talk.there), values);
  }

  void receive(const Talk& talk) {
    const bool packs = spreads(talk);
    const auto received = [&](Range blocks, std::uint32_t index) {
      return packs ? placed(builder_.open(1, readers_, builder_.scratch(0, blocks)), index) : Builder::output(blocks);
    };
    std::vector<int> readers;
    std::vector<Operand> values, kept;
    std::uint32_t index = talk.base;
    for (const auto& [from, to] : talk.parts) {
      std::uint32_t next = index;
      for (const Range& run : pair_runs(request_, from, to)) {
        static_cast<void>(builder_.take(2, talk.there, Builder::input(run), received(run, index)));
        index += run.count;
      }
      for (const int taker : to) {
        const Operand value = received(request_.pair(from, taker), next++);
        if (taker == request_.rank) {
          kept.push_back(value);
          continue;
        }
        readers.push_back(taker);
        values.push_back(value);
      }
    }
    builder_.post(1, readers, values);
    for (const Operand& value : kept) builder_.copy(Builder::output(value.range), value);
  }

  void take_received(const Talk& talk) {
    std::uint32_t first = talk.base;
    for (const auto& [from, to] : talk.parts) {
      const auto me = std::lower_bound(to.begin(), to.end(), request_.rank);
      if (me != to.end() && *me == request_.rank) {
        const Range block = request_.pair(from, request_.rank);
        const auto index = first + static_cast<std::uint32_t>(me - to.begin());
        const Operand given = placed(builder_.scratch(0, block), index);
        const Operand theirs = builder_.take(1, talk.here, given, Builder::output(block));
        builder_.copy(Builder::output(block), placed_if_staged(theirs, index));
      }
      first += static_cast<std::uint32_t>(to.size());
    }
  }

  Builder& builder_;
  const Request& request_;
  const Talks& talks_;
  const std::function<bool(int, int)>& has_edge_;
  const std::vector<int> others_;  // the other ranks of the node
  std::vector<int> readers_;       // those that take from this rank what it has received
  std::vector<int> input_readers_;
};

}  // namespace

bool gathers(const Talk& leaving) {
  return std::any_of(leaving.parts.begin(), leaving.parts.end(), [&](const auto& part) { return part.from != leaving.here; });
}

bool spreads(const Talk& coming) {
  return std::any_of(coming.parts.begin(), coming.parts.end(), [&](const auto& part) {
    return std::any_of(part.to.begin(), part.to.end(), [&](int to) { return to != coming.here; });
  });
}

void exchange_by_talks(Builder& builder, const Request& request, Talks talks, const std::function<bool(int, int)>& has_edge) {
  place(talks.leaving, gathers);
  place(talks.coming, spreads);
  Talker me(builder, request, talks, has_edge);
  me.share();
  me.send();
  me.take_shared();
  me.receive();
  me.take_received();
  me.reclaim();
}

int speaker_for(const Groups& nodes, std::size_t of, std::size_t with) {
  const std::size_t ahead = (with + nodes.size() - of) % nodes.size();
  return nodes[of][(ahead - 1) % nodes[of].size()];
}

std::uint32_t most_held(const Request& request) {
  return request.shared->kept<std::uint32_t>("most held", [&] {
    const Groups& nodes = request.shared->groups(topology::Level::node);
    auto most = static_cast<std::uint32_t>(request.ranks);
    for (std::size_t node = 0; node < nodes.size(); ++node) {
      std::map<int, std::uint32_t> packed;  // blocks, by speaker
      for (std::size_t ahead = 1; ahead < nodes.size(); ++ahead) {
        const std::size_t other = (node + ahead) % nodes.size();
        std::uint32_t& blocks = packed[speaker_for(nodes, node, other)];
        blocks += static_cast<std::uint32_t>(nodes[node].size() * nodes[other].size());
        most = std::max(most, blocks);
      }
    }
    return most;
  });
}

}  // namespace copse::algorithms
