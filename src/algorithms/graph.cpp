// The edges of a graph, seen from both ends.
#include "algorithms/graph.hpp"

#include <algorithm>
#include <utility>

namespace copse::algorithms {

Graph::Graph(std::vector<std::vector<int>> takers) : takers_(std::move(takers)), givers_(takers_.size()) {
  for (int from = 0; from < ranks(); ++from) {
    std::vector<int>& mine = takers_[static_cast<std::size_t>(from)];
    std::sort(mine.begin(), mine.end());
    gives_itself_.push_back(std::erase(mine, from) > 0);
    int number = 0;
    for (const int to : mine) givers_[static_cast<std::size_t>(to)].push_back({from, number++});
  }
  connected_ = reached_from_the_first() == takers_.size();
}

// Returns how many ranks edges lead to from rank 0, itself included.
std::size_t Graph::reached_from_the_first() const {
  if (takers_.empty()) return 0;
  std::vector<bool> reached(takers_.size());
  std::vector<int> found{0};
  reached[0] = true;
  const auto reach = [&](int rank) {
    if (!reached[static_cast<std::size_t>(rank)]) found.push_back(rank);
    reached[static_cast<std::size_t>(rank)] = true;
  };
  for (std::size_t at = 0; at < found.size(); ++at) {
    const int rank = found[at];
    for (const int taker : takers_of(rank)) reach(taker);
    for (const Giver& giver : givers_to(rank)) reach(giver.rank);
  }
  return found.size();
}

bool Graph::has_edge(int from, int to) const {
  if (from == to) return gives_itself_[static_cast<std::size_t>(from)];
  const std::vector<int>& takers = takers_of(from);
  return std::binary_search(takers.begin(), takers.end(), to);
}

}  // namespace copse::algorithms
