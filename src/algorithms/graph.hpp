// Who gives to whom in a call among neighbours (MPI-4.1 8.7). The graph is the same on all ranks.
#pragma once

#include <cstddef>
#include <vector>

namespace copse::algorithms {

class Graph {
 public:
  // A rank that gives to another rank, its taker. `number` is the index of the taker among all ranks to which the giver gives.
  struct Giver {
    int rank = 0, number = 0;
  };

  Graph() = default;
  // takers[i] are the ranks to which rank i gives a block, each once. Rank i itself may be among them.
  explicit Graph(std::vector<std::vector<int>> takers);

  [[nodiscard]] int ranks() const { return static_cast<int>(takers_.size()); }
  // These return the other ranks to which a rank gives, and the other ranks that give to it, in the order of ranks.
  [[nodiscard]] const std::vector<int>& takers_of(int rank) const { return takers_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] const std::vector<Giver>& givers_to(int rank) const { return givers_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] bool has_edge(int from, int to) const;
  // Tells whether edges lead from every rank to every other, whichever way each edge goes.
  [[nodiscard]] bool connected() const { return connected_; }

 private:
  [[nodiscard]] std::size_t reached_from_the_first() const;

  std::vector<std::vector<int>> takers_;
  std::vector<std::vector<Giver>> givers_;
  std::vector<bool> gives_itself_;
  bool connected_ = false;
};

}  // namespace copse::algorithms
