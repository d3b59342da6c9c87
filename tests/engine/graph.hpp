// The graph of neighbours on which tests make calls. Every rank is bound to every other one, over others if not at once.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "algorithms/graph.hpp"

namespace copse::test {

[[nodiscard]] inline bool is_edge(int from, int to, int ranks) {
  return to == (from + 1) % ranks || (5 * from + 3 * to + ranks) % 4 == 0;
}

[[nodiscard]] inline algorithms::Graph graph_of(int ranks) {
  std::vector<std::vector<int>> takers(static_cast<std::size_t>(ranks));
  for (int from = 0; from < ranks; ++from)
    for (int to = 0; to < ranks; ++to)
      if (is_edge(from, to, ranks)) takers[static_cast<std::size_t>(from)].push_back(to);
  return algorithms::Graph(std::move(takers));
}

}  // namespace copse::test
