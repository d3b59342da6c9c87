// Hierarchies: trees that follow the machine. The ranks are split into groups by the coarsest level that divides them,
// one leader of each group joins the tree of the leaders, and each group is split again (NUMACol 3). So every group is
// entered over exactly one edge, and the dear links are crossed as seldom as a tree can.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "shape/tree.hpp"
#include "topology/placement.hpp"

namespace copse::shape {

// Which levels divide, how the leaders of a level's groups are joined inside their enclosing group, and how ranks are
// joined that no level divides any more.
struct Hierarchy {
  struct Layer {
    topology::Level level;
    Arrangement across;
  };
  std::vector<Layer> layers;
  Arrangement inside;
};

// The trees of NUMACol 3: binomial between nodes, boards, packages and NUMA regions; `inside` a region binomial or
// flat.
[[nodiscard]] Hierarchy numacol(Arrangement inside);

// Every level that Copse knows, caches and cores included, all joined alike.
[[nodiscard]] Hierarchy every_level(Arrangement arrangement);

// The tree of all ranks of the placement. A level that divides nothing vanishes; levels that nest in another order than
// the hierarchy names them are taken coarsest first. The leader of a group is the root if it is a member, else the
// lowest rank: so the leader at an outer level leads at every inner one, and the root leads all its groups. If the
// groups of every level are intervals of ranks (block layout), the tree keeps rank order, whatever the root, unless a
// chain is among the arrangements. Throws std::invalid_argument for a root that is no rank.
[[nodiscard]] Tree make_tree(const Hierarchy& hierarchy, const topology::Placement& placement, int root);

// Edges whose ends lie in different groups of the level. No tree has fewer than groups(placement, level) - 1.
[[nodiscard]] int crossings(const Tree& tree, const topology::Placement& placement, topology::Level level);

// Groups into which the level divides the ranks.
[[nodiscard]] int groups(const topology::Placement& placement, topology::Level level);

// Which boundary lies between two ranks of a placement: the coarsest level (that with the fewest groups) at which they
// differ; none if they differ at no level. The dearest link on the way, that is.
class Boundaries {
 public:
  explicit Boundaries(const topology::Placement& placement);  // refers to the placement

  [[nodiscard]] std::optional<topology::Level> between(int a, int b) const;

 private:
  const topology::Placement& placement_;
  std::array<topology::Level, topology::kLevels> coarsest_first_ = topology::kAllLevels;
};

// The tree as indented text, one rank a line in serving order, each with the level that its edge from its parent
// crosses.
[[nodiscard]] std::string to_text(const Tree& tree, const topology::Placement& placement);

}  // namespace copse::shape
