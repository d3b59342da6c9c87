// neighbor_alltoall, hierarchical: the blocks from the ranks of one node to their neighbours on another cross the wire as one
// message (Collom, Li, Bienz 2023, as in MPI Advance). One rank of each node speaks to the other node: it takes the blocks from
// the ranks of its node and sends them, or receives blocks and gives them to its ranks. It is a rank with neighbours there, and
// of those the one that packs the fewest blocks so far. Inside a node all blocks go directly, as in flat. Ranks handle
// blocks of other ranks, so all blocks must be of one size.
// Cost: 3 a + 3 d n b for d neighbours, and a + e n b on the wire for each other node, for e edges between the two nodes.
// Wins: small blocks between nodes of which several ranks are neighbours of ranks of the same other node
#include <algorithm>
#include <map>
#include <utility>

#include "algorithms/patterns/talks.hpp"

namespace copse::algorithms {

namespace {

enum class Way : bool { leaving, coming };

// Who speaks for a node about edges that leave it, or about those that come to it, by how far the other node is ahead of it in a
// ring of all nodes. `most` is the most blocks that one of these ranks packs.
struct Speakers {
  std::map<std::size_t, int> to;
  std::uint32_t most = 0;
};

class Crossings {
 public:
  explicit Crossings(const Request& request)
      : request_(request), nodes_(request.shared->groups(topology::Level::node)), home_(nodes_.index_of(request.rank)) {}

  // Returns the talks of this rank's node.
  [[nodiscard]] Talks talks() const {
    Talks result;
    result.leaving = talks(Way::leaving, Way::coming, result.takers);
    result.coming = talks(Way::coming, Way::leaving, result.takers);
    return result;
  }

  // Returns the most blocks that a rank of any node packs.
  [[nodiscard]] std::uint32_t most_held() const {
    std::uint32_t most = 0;
    for (const Way way : {Way::leaving, Way::coming})
      for (const Speakers& speakers : speakers_of_all(way)) most = std::max(most, speakers.most);
    return most;
  }

 private:
  [[nodiscard]] std::size_t ahead(std::size_t node, int rank) const {
    return (nodes_.index_of(rank) + nodes_.size() - node) % nodes_.size();
  }

  // Calls visit(rank) for each rank to which `rank` gives, or that gives to it, in the order of ranks.
  template <class Visit>
  void each_neighbor(int rank, Way way, Visit&& visit) const {
    if (way == Way::leaving)
      for (const int taker : request_.graph->takers_of(rank)) visit(taker);
    else
      for (const Graph::Giver& giver : request_.graph->givers_to(rank)) visit(giver.rank);
  }

  // Returns the speakers of each node.
  [[nodiscard]] const std::vector<Speakers>& speakers_of_all(Way way) const {
    const auto make = [&] {
      std::vector<Speakers> result;
      for (std::size_t node = 0; node < nodes_.size(); ++node) result.push_back(speakers_of(node, way));
      return result;
    };
    return request_.shared->kept<std::vector<Speakers>>(way == Way::leaving ? "speakers of takers" : "speakers of givers", make);
  }

  // If several ranks of the node have edges to another, or from it, the one of them that packs the fewest blocks so far speaks.
  [[nodiscard]] Speakers speakers_of(std::size_t node, Way way) const {
    struct Ends {
      Group ranks;
      std::uint32_t edges = 0;
    };
    std::map<std::size_t, Ends> ends;  // by how far the other node is ahead
    for (const int rank : nodes_[node]) {
      each_neighbor(rank, way, [&](int neighbor) {
        const std::size_t other = ahead(node, neighbor);
        if (other == 0) return;
        Ends& there = ends[other];
        if (there.ranks.empty() || there.ranks.back() != rank) there.ranks.push_back(rank);
        ++there.edges;
      });
    }
    Speakers result;
    std::map<int, std::uint32_t> packed;  // blocks, by speaker
    for (const auto& [other, there] : ends) {
      const auto packs_less = [&](int a, int b) { return packed[a] < packed[b]; };
      const int speaker = *std::min_element(there.ranks.begin(), there.ranks.end(), packs_less);
      result.to[other] = speaker;
      if (there.ranks.size() > 1) result.most = std::max(result.most, packed[speaker] += there.edges);
    }
    return result;
  }

  [[nodiscard]] std::vector<Talk> talks(Way way, Way back, std::vector<Group>& kept) const {
    std::map<std::size_t, std::map<int, Group>> edges;  // by how far the other node is ahead, and by the giver: its takers
    for (const int rank : nodes_[home_]) {
      each_neighbor(rank, way, [&](int neighbor) {
        const auto [from, to] = way == Way::leaving ? std::pair(rank, neighbor) : std::pair(neighbor, rank);
        if (const std::size_t other = ahead(home_, neighbor); other > 0) edges[other][from].push_back(to);
      });
    }
    std::vector<Talk> result;
    for (auto& [other, parts] : edges) {
      Talk& talk = result.emplace_back();
      talk.here = speakers_of_all(way)[home_].to.at(other);
      talk.there = speakers_of_all(back)[(home_ + other) % nodes_.size()].to.at(nodes_.size() - other);
      for (auto& [from, to] : parts) talk.parts.push_back({from, kept.emplace_back(std::move(to))});
    }
    return result;
  }

  const Request& request_;
  const Groups& nodes_;
  std::size_t home_;
};

}  // namespace

// Without a graph, it is taken to have all edges.
std::uint32_t neighbor_alltoall_hierarchical_pack(const Request& request) {
  if (request.graph == nullptr) return most_held(request);
  return std::max(static_cast<std::uint32_t>(request.ranks), Crossings(request).most_held());
}

plan::Plan neighbor_alltoall_hierarchical(const Request& request) {
  plan::Builder builder = request.builder();
  builder.pack(neighbor_alltoall_hierarchical_pack(request));
  if (request.shared->groups(topology::Level::node).size() > 1) builder.give_from_scratch();
  builder.loop();
  exchange_by_talks(builder, request, Crossings(request).talks(),
                    [&](int from, int to) { return request.graph->has_edge(from, to); });
  return builder.finish();
}

}  // namespace copse::algorithms
