// Several leaders on each node, for what crosses between nodes (NUMACol 3; Traeff and Hunold 2020). The ranks of a node, NUMA
// region by region, are cut into teams. One rank of each team leads it, if possible one next to a network card. The leaders of the
// teams with the same number, one on each node, form a column. Each column carries a part of the message, or the blocks of its
// teams. So several processors, and the cards next to them, work at the same time.
#pragma once

#include <optional>

#include "algorithms/patterns/rounds.hpp"

namespace copse::algorithms {

class Columns {
 public:
  // There are as many columns as the radix says, but not more than the smallest node has ranks.
  explicit Columns(const Request& request);

  [[nodiscard]] int count() const { return count_; }
  [[nodiscard]] int nodes() const { return static_cast<int>(nodes_.size()); }
  [[nodiscard]] int node_of(int rank) const { return static_cast<int>(nodes_.index_of(rank)); }
  [[nodiscard]] const Group& ranks_of(int node) const { return nodes_[static_cast<std::size_t>(node)]; }
  [[nodiscard]] std::vector<int> team(int node, int column) const;
  [[nodiscard]] int leader(int node, int column) const;
  // Returns the column that the rank leads on its node, if it leads one.
  [[nodiscard]] std::optional<int> led_by(int rank) const;
  // Returns the other leaders of the rank's node.
  [[nodiscard]] std::vector<int> leaders_beside(int rank) const;
  [[nodiscard]] std::vector<int> others_beside(int rank) const;  // all other ranks of the node

  // Returns a column's part of the message, or piece `number` of that part, cut into as many pieces as there are nodes.
  [[nodiscard]] plan::Range part(int column) const;
  [[nodiscard]] plan::Range piece(int column, int number) const;

 private:
  const Groups& nodes_;
  const std::vector<std::vector<Group>>& regions_;  // of each node
  const topology::Placement* places_;
  int count_;
};

// The next and the previous node in the chain that begins at the root's node; none at its ends.
struct Chain {
  std::optional<int> before, after;

  Chain(const Columns& columns, int root, int rank) {
    const int home = columns.node_of(root), here = columns.node_of(rank), nodes = columns.nodes();
    if (here != home) before = (here + nodes - 1) % nodes;
    if ((here + 1) % nodes != home) after = (here + 1) % nodes;
  }
};

// Returns a tree in which a team hangs below its leader, and the leaders of a column hang below the one on the root's node. On that
// node, all ranks hang below the root.
[[nodiscard]] const shape::SurveyedTree& column_tree(const Request& request);

// The schedule of an allgather. Every team gives its blocks to its leader, the leaders of each column exchange what they have by
// halves, and all ranks of a node take from its leaders what they lack.
[[nodiscard]] Rounds column_rounds(const Request& request, int rank);

}  // namespace copse::algorithms
