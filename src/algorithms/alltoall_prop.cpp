// alltoall, prop: flat inside each node, k-nomial between nodes (UPC 4.5, PROP, for its exchange). The ranks of a node take
// their blocks from each other. The leader of a node packs the blocks for each other node as a bundle. A bundle that has d
// nodes to go makes one hop for each digit of d to the base k (the radix) that is not 0. In each round, all bundles that make
// the same hop go together (Bruck et al. 1997). So the bundles of one node go down a k-nomial tree. Ranks handle blocks of
// other ranks, so all blocks must be of one size. On a single node it is flat.
// Cost: for N nodes of r ranks ceil(log_k N) (k-1) (a + N/k r^2 n b) between leaders, and 2 a + (P + (P-r) r) n b at one
// Wins: very small blocks on many nodes: a node sends ceil(log_k N) (k-1) messages, where hierarchical sends N-1
#include <algorithm>
#include <functional>

#include "algorithms/patterns/pairs.hpp"
#include "algorithms/patterns/signals.hpp"

namespace copse::algorithms {

namespace {

using plan::Builder;
using plan::Operand;
using plan::Range;

constexpr int kFirstRound = 2;  // area of what goes between nodes in the first round

// The bundles between nodes. The blocks of a bundle are numbered from 0 on, in their order.
class Bundles {
 public:
  explicit Bundles(const Request& request)
      : request_(request), nodes_(request.shared->groups(topology::Level::node)), count_(static_cast<int>(nodes_.size())) {}

  [[nodiscard]] int nodes() const { return count_; }
  [[nodiscard]] int rounds() const { return dissemination_rounds(nodes_.size(), request_.radix); }
  [[nodiscard]] int leader(int node) const { return nodes_.leaders()[index(node)]; }
  [[nodiscard]] const Group& ranks_of(int node) const { return nodes_[index(node)]; }
  [[nodiscard]] int node_of(int rank) const { return static_cast<int>(nodes_.index_of(rank)); }

  // A run of blocks from one rank of a node to ranks of another node, and the number of its first block in the bundle.
  struct Run {
    Range blocks;
    int from;
    std::uint32_t at;
  };
  [[nodiscard]] std::vector<Run> runs(int from_node, int to_node) const {
    std::vector<Run> result;
    std::uint32_t at = 0;
    for (const int from : ranks_of(from_node)) {
      for (const Range& blocks : pair_runs(request_, from, ranks_of(to_node))) {
        result.push_back({blocks, from, at});
        at += blocks.count;
      }
    }
    return result;
  }
  // Returns where each bundle begins if all bundles lie packed, by the distance that a bundle has to go in all. For each
  // distance there is room for the largest bundle.
  [[nodiscard]] std::vector<std::uint32_t> bases() const {
    std::vector<std::uint32_t> result(static_cast<std::size_t>(count_), 0);
    for (int distance = 1; distance + 1 < count_; ++distance) {
      std::size_t most = 0;
      for (int from = 0; from < count_; ++from) most = std::max(most, ranks_of(from).size() * ranks_of(from + distance).size());
      result[static_cast<std::size_t>(distance) + 1] =
          result[static_cast<std::size_t>(distance)] + static_cast<std::uint32_t>(most);
    }
    return result;
  }
  // Returns the number of blocks that come to `node` from the `nodes` nodes before it.
  [[nodiscard]] std::uint32_t from_behind(int node, int nodes) const {
    std::size_t ranks = 0;
    for (int behind = 1; behind <= nodes; ++behind) ranks += ranks_of(node - behind).size();
    return static_cast<std::uint32_t>(ranks * ranks_of(node).size());
  }

 private:
  [[nodiscard]] std::size_t index(int node) const { return static_cast<std::size_t>((node + 2 * count_) % count_); }

  const Request& request_;
  const Groups& nodes_;
  int count_;
};

// Does the work of a leader: packs bundles, sends them, receives them and passes them on. `arrived` says where the blocks for
// its node go.
void travel(Builder& builder, const Request& request, const Bundles& bundles,
            const std::function<Operand(Range blocks, std::uint32_t index)>& arrived) {
  const int here = bundles.node_of(request.rank), nodes = bundles.nodes();
  const auto bases = bundles.bases();
  // Returns where a run of a bundle lies after `hops` hops. The bundle has `distance` nodes to go in all. Two scratches hold
  // it in turn.
  const auto held = [&](int distance, int hops, const Bundles::Run& run) {
    if (hops == 0 && bundles.ranks_of(here).size() == 1) return Builder::input(run.blocks);
    return placed(builder.scratch(hops % 2, run.blocks), bases[static_cast<std::size_t>(distance)] + run.at);
  };
  const auto hops_of = [&](int distance) {
    int hops = 0;
    for (; distance > 0; distance /= request.radix) hops += distance % request.radix != 0;
    return hops;
  };

  for (int distance = 1; distance < nodes; ++distance) {
    for (const Bundles::Run& run : bundles.runs(here, here + distance)) {
      const Operand place = held(distance, 0, run);
      builder.copy(place,
                   run.from == request.rank ? Builder::input(run.blocks) : builder.take_part(0, run.from, run.blocks, place));
    }
  }
  // Each round has an area of its own. What a bundle overwrites was sent in an earlier round, and has arrived when the messages of
  // that round have. Waiting for all that was sent so far would be waiting for ranks that wait as well.
  for (int step = 1, area = kFirstRound; step < nodes; step *= request.radix, ++area) {
    const int next = step * request.radix;
    for (int ahead = step; ahead < std::min(next, nodes); ahead += step) {
      std::vector<Operand> values;
      for (int distance = ahead; distance < nodes; ++distance) {
        if (distance % next / step * step != ahead) continue;
        const int gone = distance % step;
        for (const Bundles::Run& run : bundles.runs(here - gone, here - gone + distance))
          values.push_back(held(distance, hops_of(gone), run));
      }
      builder.post(area, std::vector<int>(values.size(), bundles.leader(here + ahead)), values);
    }
    for (int behind = step; behind < std::min(next, nodes); behind += step) {
      for (int distance = behind; distance < nodes; ++distance) {
        if (distance % next / step * step != behind) continue;
        const int gone = distance % next;
        for (const Bundles::Run& run : bundles.runs(here - gone, here - gone + distance)) {
          const Operand home = gone == distance ? arrived(run.blocks, bundles.from_behind(here, distance - 1) + run.at)
                                                : held(distance, hops_of(gone), run);
          static_cast<void>(builder.take(area, bundles.leader(here - behind), Builder::input(run.blocks), home));
        }
      }
    }
  }
}

}  // namespace

// Returns the most blocks that a rank shares inside its node, or that a leader has received for its node.
std::uint32_t alltoall_prop_pack(const Request& request) {
  const Bundles bundles(request);
  auto most = static_cast<std::uint32_t>(request.ranks);
  for (int node = 0; node < bundles.nodes(); ++node) most = std::max(most, bundles.from_behind(node, bundles.nodes() - 1));
  return most;
}

plan::Plan alltoall_prop(const Request& request) {
  Builder builder = request.builder();
  const int rank = request.rank;
  const Bundles bundles(request);
  const int home = bundles.node_of(rank), leader = bundles.leader(home);
  const Group& here = bundles.ranks_of(home);
  const std::vector<int> others = others_here(builder, request);
  builder.pack(alltoall_prop_pack(request));
  Builder::need_areas(kFirstRound + bundles.rounds());
  if (bundles.nodes() > 1) builder.give_from_scratch();

  builder.loop();
  share_here(builder, request, 0, [&](int other) {  // the leader also gets the blocks for other nodes
    std::vector<Range> runs{request.pair(rank, other)};
    for (int ahead = 1; other == leader && ahead < bundles.nodes(); ++ahead)
      for (const Range& run : pair_runs(request, rank, bundles.ranks_of(home + ahead))) runs.push_back(run);
    return runs;
  });

  // These say where a block from another node lies at the leader: `in_scratch` for its readers, `arrived` for the leader
  // itself.
  const auto in_scratch = [&](Range blocks, std::uint32_t index) { return placed(builder.scratch(2, blocks), index); };
  const auto arrived = [&](Range blocks, std::uint32_t index) {
    if (others.empty()) return Builder::output(blocks);
    return placed(builder.open(1, others, builder.scratch(2, blocks)), index);
  };
  if (rank == leader) travel(builder, request, bundles, arrived);

  take_blocks(builder, request, 0, others);

  std::vector<int> to;
  std::vector<Operand> values, kept;
  for (int behind = 1; behind < bundles.nodes(); ++behind) {
    std::uint32_t index = bundles.from_behind(home, behind - 1);
    for (const int from : bundles.ranks_of(home - behind)) {
      for (const int member : here) {
        const Range block = request.pair(from, member);
        if (rank != leader && member == rank) {
          const Operand theirs = builder.take(1, leader, in_scratch(block, index), Builder::output(block));
          builder.copy(Builder::output(block), placed_if_staged(theirs, index));
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
  for (const Operand& value : kept) builder.copy(Builder::output(value.range), value);
  builder.reclaim_input(others);
  return builder.finish();
}

}  // namespace copse::algorithms
