// Hierarchies: trees that follow the machine. The coarsest level that divides the ranks splits them into groups. One
// leader of each group joins the tree of the leaders, and each group is split again (NUMACol 3). So every group is
// entered over exactly one edge, and the tree crosses expensive links as seldom as any tree can.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "shape/tree.hpp"
#include "topology/placement.hpp"

namespace copse::shape {

// Which levels divide the ranks, and how they are joined. `across` joins the leaders of a level's groups within the
// enclosing group. `inside` joins ranks that no level divides any more.
struct Hierarchy {
  struct Layer {
    topology::Level level;
    Arrangement across;
  };
  std::vector<Layer> layers;
  Arrangement inside;
};

// Returns the trees of NUMACol 3. They are binomial between nodes and between NUMA regions. Within a region `inside` is binomial
// or flat. The paper has no boards and packages between these; here they are levels, too.
[[nodiscard]] Hierarchy numacol(Arrangement inside);

// Makes the tree of all ranks of the placement. A level that divides nothing has no effect. If levels nest in another
// order than in the hierarchy, the coarsest comes first. The leader of a group is the root, if the root is a member. Otherwise it
// is the lowest rank or, for a node, the lowest rank next to a network card (NUMACol 4.1). The leader at an outer level leads at
// every inner level too, and the root leads all its groups. If the groups of every level are intervals of ranks (block layout),
// the tree keeps rank order for any root, unless an arrangement is a chain. Throws std::invalid_argument if the root is not a
// rank.
[[nodiscard]] Tree make_tree(const Hierarchy& hierarchy, const topology::Placement& placement, int root);

// Returns the number of groups into which the level divides the ranks.
[[nodiscard]] int groups(const topology::Placement& placement, topology::Level level);

// Finds the boundary between two ranks of a placement: the coarsest level (the one with the fewest groups) at which
// they differ, or none. This is the most expensive link on the way between them.
class Boundaries {
 public:
  explicit Boundaries(const topology::Placement& placement);  // keeps a reference to the placement

  [[nodiscard]] std::optional<topology::Level> between(int a, int b) const;

 private:
  const topology::Placement& placement_;
  std::array<topology::Level, topology::kLevels> coarsest_first_ = topology::kAllLevels;
};

// Returns the tree as indented text. Each line has one rank, in serving order, and the level that the edge from its
// parent crosses.
[[nodiscard]] std::string to_text(const Tree& tree, const topology::Placement& placement);

}  // namespace copse::shape
