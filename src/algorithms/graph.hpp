// Who gives to whom in a call among neighbours (MPI-4.1 8.7). The graph is the same on all ranks.
#pragma once

#include <cstddef>
#include <vector>

namespace copse::algorithms {

class Graph {
 public:
  // One who gives to a rank. `number` says which of those to whom he gives the rank is, from 0.
  struct Giver {
    int rank = 0, number = 0;
  };

  Graph() = default;
  // takers[i] are the ranks to which rank i gives a block, each once. Rank i itself may be among them.
  explicit Graph(std::vector<std::vector<int>> takers);

  [[nodiscard]] int ranks() const { return static_cast<int>(takers_.size()); }
  // The other ranks to whom a rank gives, and who give to it, in the order of ranks.
  [[nodiscard]] const std::vector<int>& takers_of(int rank) const { return takers_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] const std::vector<Giver>& givers_to(int rank) const { return givers_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] bool has_edge(int from, int to) const;

 private:
  std::vector<std::vector<int>> takers_;
  std::vector<std::vector<Giver>> givers_;
  std::vector<bool> gives_itself_;
};

}  // namespace copse::algorithms
