// alltoall, prop: flat inside each node, k-nomial between nodes (UPC 4.5, PROP, for its exchange). The ranks of a node take
// their blocks from each other. What the node has for another is a bundle, which its leader packs. A bundle with d nodes to
// go travels the digits of d to the base k (the radix), one in each round, with all others that go the same way (Bruck et
// al. 1997): so the bundles of one node go down a k-nomial tree. Ranks handle others' blocks, so all must be of one size.
// On a single node it is flat.
// Cost: for N nodes of r ranks ceil(log_k N) (k-1) (a + N/k r^2 n b) between leaders, and 2 a + (P + (P-r) r) n b at one
// Wins: very small blocks on many nodes: a node sends ceil(log_k N) (k-1) messages, where hierarchical sends N-1
#include <algorithm>

#include "algorithms/patterns/exchange.hpp"

namespace copse::algorithms {

namespace {

using plan::Builder;
using plan::Operand;
using plan::Range;

// Bundles between nodes. What one of them consists of, in its order, is numbered from 0 on.
class Bundles {
 public:
  explicit Bundles(const Request &request)
      : request_(request), nodes_(request.shared->groups(topology::Level::node)), count_(static_cast<int>(nodes_.size())) {}

  [[nodiscard]] int nodes() const { return count_; }
  [[nodiscard]] int leader(int node) const { return nodes_.leaders()[index(node)]; }
  [[nodiscard]] const Group &ranks_of(int node) const { return nodes_[index(node)]; }
  [[nodiscard]] int node_of(int rank) const { return static_cast<int>(nodes_.index_of(rank)); }

  // The runs of blocks from the ranks of one node to those of another, and where each comes in the bundle.
  struct Run {
    Range blocks;
    int from;
    std::uint32_t at;
  };
  [[nodiscard]] std::vector<Run> runs(int from_node, int to_node) const {
    std::vector<Run> result;
    std::uint32_t at = 0;
    for (const int from : ranks_of(from_node)) {
      for (const Range &blocks : pair_runs(request_, from, ranks_of(to_node))) {
        result.push_back({blocks, from, at});
        at += blocks.count;
      }
    }
    return result;
  }
  // Where bundles begin that lie packed, by the distance that they have to go in all: each has room for the largest.
  [[nodiscard]] std::vector<std::uint32_t> bases() const {
    std::vector<std::uint32_t> result(static_cast<std::size_t>(count_), 0);
    for (int distance = 1; distance + 1 < count_; ++distance) {
      std::size_t most = 0;
      for (int from = 0; from < count_; ++from) most = std::max(most, ranks_of(from).size() * ranks_of(from + distance).size());
      result[static_cast<std::size_t>(distance) + 1] = result[static_cast<std::size_t>(distance)] + static_cast<std::uint32_t>(most);
    }
    return result;
  }
  // How many blocks come to `node` from the `nodes` that it follows.
  [[nodiscard]] std::uint32_t from_behind(int node, int nodes) const {
    std::size_t ranks = 0;
    for (int behind = 1; behind <= nodes; ++behind) ranks += ranks_of(node - behind).size();
    return static_cast<std::uint32_t>(ranks * ranks_of(node).size());
  }

 private:
  [[nodiscard]] std::size_t index(int node) const { return static_cast<std::size_t>((node + 2 * count_) % count_); }

  const Request &request_;
  const Groups &nodes_;
  int count_;
};

// What a leader does with the bundles between nodes.
void travel(Builder &builder, const Request &request, const Bundles &bundles,
            const std::function<Operand(Range blocks, std::uint32_t index)> &arrived) {
  const int here = bundles.node_of(request.rank), nodes = bundles.nodes();
  const auto bases = bundles.bases();
  // A run of the bundle that has `distance` to go in all, after some hops: two scratches take turns in holding it.
  const auto held = [&](int distance, int hops, const Bundles::Run &run) {
    if (hops == 0 && bundles.ranks_of(here).size() == 1) return Builder::input(run.blocks);
    return placed(builder.scratch(hops % 2, run.blocks), bases[static_cast<std::size_t>(distance)] + run.at);
  };
  const auto hops_of = [&](int distance) {
    int hops = 0;
    for (; distance > 0; distance /= request.radix) hops += distance % request.radix != 0;
    return hops;
  };

  for (int distance = 1; distance < nodes; ++distance) {
    for (const Bundles::Run &run : bundles.runs(here, here + distance)) {
      const Operand place = held(distance, 0, run);
      builder.copy(place, run.from == request.rank ? Builder::input(run.blocks)
                                                   : builder.take_part(0, run.from, run.blocks, place));
    }
  }
  for (int step = 1; step < nodes; step *= request.radix) {
    const int next = step * request.radix;
    for (int ahead = step; ahead < std::min(next, nodes); ahead += step) {
      std::vector<Operand> values;
      for (int distance = ahead; distance < nodes; ++distance) {
        if (distance % next / step * step != ahead) continue;
        const int gone = distance % step;
        for (const Bundles::Run &run : bundles.runs(here - gone, here - gone + distance))
          values.push_back(held(distance, hops_of(gone), run));
      }
      builder.post(2, std::vector<int>(values.size(), bundles.leader(here + ahead)), values);
    }
    for (int behind = step; behind < std::min(next, nodes); behind += step) {
      for (int distance = behind; distance < nodes; ++distance) {
        if (distance % next / step * step != behind) continue;
        const int gone = distance % next;
        for (const Bundles::Run &run : bundles.runs(here - gone, here - gone + distance)) {
          const Operand home = gone == distance
                                   ? arrived(run.blocks, bundles.from_behind(here, distance - 1) + run.at)
                                   : held(distance, hops_of(gone), run);
          static_cast<void>(builder.take(2, bundles.leader(here - behind), Builder::input(run.blocks), home));
        }
      }
    }
  }
}

// Every other rank of the node gets its block of this rank's input, and the leader also gets those for other nodes.
void share_inside(Builder &builder, const Request &request, const Bundles &bundles, const std::vector<int> &others) {
  const int home = bundles.node_of(request.rank), leader = bundles.leader(home);
  std::vector<int> readers;
  std::vector<Range> parts;
  for (const int other : others) {
    parts.push_back(request.pair(request.rank, other));
    for (int ahead = 1; other == leader && ahead < bundles.nodes(); ++ahead)
      for (const Range &run : pair_runs(request, request.rank, bundles.ranks_of(home + ahead))) parts.push_back(run);
    readers.resize(parts.size(), other);
  }
  builder.share_input(0, readers, parts);
}

}  // namespace

// What a rank shares inside its node, or a leader has got for its node.
std::uint32_t alltoall_prop_pack(const Request &request) {
  const Bundles bundles(request);
  auto most = static_cast<std::uint32_t>(request.ranks);
  for (int node = 0; node < bundles.nodes(); ++node) most = std::max(most, bundles.from_behind(node, bundles.nodes() - 1));
  return most;
}

plan::Plan alltoall_prop(const Request &request) {
  Builder builder = request.builder();
  const int rank = request.rank;
  const Bundles bundles(request);
  const int home = bundles.node_of(rank), leader = bundles.leader(home);
  const Group &here = bundles.ranks_of(home);
  std::vector<int> others;
  for (const int other : request.others())
    if (builder.shares_memory_with(other)) others.push_back(other);
  builder.pack(alltoall_prop_pack(request));
  if (bundles.nodes() > 1) builder.give_from_scratch();

  builder.loop();
  share_inside(builder, request, bundles, others);

  // Where a block that has come from another node lies at the leader, as the leader and its readers name it.
  const auto in_scratch = [&](Range blocks, std::uint32_t index) { return placed(builder.scratch(2, blocks), index); };
  const auto arrived = [&](Range blocks, std::uint32_t index) {
    if (others.empty()) return Builder::output(blocks);
    return placed(builder.open(1, others, builder.scratch(2, blocks)), index);
  };
  if (rank == leader) travel(builder, request, bundles, arrived);

  const Range own = request.pair(rank, rank);
  builder.copy(Builder::output(own), Builder::input(own));
  for (const int other : others) {
    const Range theirs = request.pair(other, rank);
    builder.copy(Builder::output(theirs), builder.take_part(0, other, theirs, Builder::output(theirs)));
  }

  std::vector<int> to;
  std::vector<Operand> values, kept;
  for (int behind = 1; behind < bundles.nodes(); ++behind) {
    std::uint32_t index = bundles.from_behind(home, behind - 1);
    for (const int from : bundles.ranks_of(home - behind)) {
      for (const int member : here) {
        const Range block = request.pair(from, member);
        if (rank != leader && member == rank) {
          const Operand theirs = builder.take(1, leader, in_scratch(block, index), Builder::output(block));
          const bool staged = theirs.space == plan::Space::line || theirs.space == plan::Space::slot;
          builder.copy(Builder::output(block), staged ? placed(theirs, index) : theirs);
        } else if (rank == leader && member == rank) {
          kept.push_back(arrived(block, index));
        } else if (rank == leader) {
          to.push_back(member);
          values.push_back(arrived(block, index));
        }
        ++index;
      }
    }
  }
  builder.post(1, to, values);
  for (const Operand &value : kept) builder.copy(Builder::output(value.range), value);
  builder.reclaim_input(others);
  return builder.finish();
}

}  // namespace copse::algorithms
