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
}

bool Graph::has_edge(int from, int to) const {
  if (from == to) return gives_itself_[static_cast<std::size_t>(from)];
  const std::vector<int>& takers = takers_of(from);
  return std::binary_search(takers.begin(), takers.end(), to);
}

}  // namespace copse::algorithms
