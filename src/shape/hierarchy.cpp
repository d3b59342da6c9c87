// Builds trees over the levels of a machine from one small tree for each group.
#include "shape/hierarchy.hpp"

#include <algorithm>
#include <numeric>
#include <span>
#include <unordered_map>

namespace copse::shape {

using topology::kAllLevels;
using topology::Level;
using topology::Placement;

namespace {

using Members = std::vector<int>;

const topology::Place& place_of(const Placement& placement, int rank) { return placement[static_cast<std::size_t>(rank)]; }

std::size_t count_groups(const Placement& placement, const Members& members, Level level) {
  std::vector<std::int32_t> ids;
  ids.reserve(members.size());
  for (const int rank : members) ids.push_back(place_of(placement, rank).at(level));
  std::sort(ids.begin(), ids.end());
  return static_cast<std::size_t>(std::unique(ids.begin(), ids.end()) - ids.begin());
}

// Returns the ranks 0 to n-1.
Members all_ranks(const Placement& placement) {
  Members ranks(placement.size());
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

// Splits the members into the level's groups. The groups have the order of their first members.
std::vector<Members> split(const Placement& placement, const Members& members, Level level) {
  std::unordered_map<std::int32_t, std::size_t> index;
  std::vector<Members> parts;
  for (const int rank : members) {
    const auto [entry, is_new] = index.try_emplace(place_of(placement, rank).at(level), parts.size());
    if (is_new) parts.emplace_back();
    parts[entry->second].push_back(rank);
  }
  return parts;
}

class Composer {
 public:
  Composer(Tree& tree, const Placement& placement, Arrangement inside) : tree_(tree), placement_(placement), inside_(inside) {}

  // Links the members below `leader`. The members ascend, and `leader` is one of them.
  void link_group(const Members& members, int leader, std::vector<Hierarchy::Layer> layers) {
    if (members.size() == 1) return;
    // Find the coarsest layer that divides the members. Of equally coarse layers, take the first in the list.
    auto coarsest = layers.end();
    std::size_t fewest = 0;
    for (auto layer = layers.begin(); layer != layers.end(); ++layer) {
      const std::size_t count = count_groups(placement_, members, layer->level);
      if (count > 1 && (coarsest == layers.end() || count < fewest)) {
        coarsest = layer;
        fewest = count;
      }
    }
    if (coarsest == layers.end()) {
      const auto position = std::find(members.begin(), members.end(), leader) - members.begin();
      link(tree_, inside_, members, static_cast<std::size_t>(position));
      return;
    }
    const Hierarchy::Layer layer = *coarsest;
    layers.erase(coarsest);
    Members leaders;
    std::size_t own = 0;
    const std::vector<Members> parts = split(placement_, members, layer.level);
    for (const Members& part : parts) {
      const bool is_own = std::binary_search(part.begin(), part.end(), leader);
      if (is_own) own = leaders.size();
      leaders.push_back(is_own ? leader : layer.level == Level::node ? topology::speaker_of(part, placement_) : part.front());
    }
    link(tree_, layer.across, leaders, own);
    for (std::size_t i = 0; i < parts.size(); ++i) link_group(parts[i], leaders[i], layers);
  }

 private:
  Tree& tree_;
  const Placement& placement_;
  Arrangement inside_;
};

}  // namespace

Hierarchy numacol(Arrangement inside) {
  const Arrangement binomial{Form::k_nomial, 2};
  return {{{Level::node, binomial}, {Level::board, binomial}, {Level::package, binomial}, {Level::numa, binomial}}, inside};
}

Tree make_tree(const Hierarchy& hierarchy, const Placement& placement, int root) {
  Tree tree = unlinked(static_cast<int>(placement.size()), root);
  Composer(tree, placement, hierarchy.inside).link_group(all_ranks(placement), root, hierarchy.layers);
  order_children(tree);
  return tree;
}

int groups(const Placement& placement, Level level) {
  return static_cast<int>(count_groups(placement, all_ranks(placement), level));
}

Boundaries::Boundaries(const Placement& placement) : placement_(placement) {
  std::array<int, topology::kLevels> count{};
  for (const Level level : kAllLevels) count[static_cast<std::size_t>(level)] = groups(placement, level);
  std::stable_sort(coarsest_first_.begin(), coarsest_first_.end(),
                   [&](Level a, Level b) { return count[static_cast<std::size_t>(a)] < count[static_cast<std::size_t>(b)]; });
}

std::optional<Level> Boundaries::between(int a, int b) const {
  for (const Level level : coarsest_first_) {
    if (place_of(placement_, a).at(level) != place_of(placement_, b).at(level)) return level;
  }
  return std::nullopt;
}

std::string to_text(const Tree& tree, const Placement& placement) {
  const Boundaries boundaries(placement);
  std::string out;
  struct Line {
    int rank;
    std::size_t indent;
  };
  std::vector<Line> stack = {{tree.root, 0}};
  while (!stack.empty()) {
    const Line line = stack.back();
    stack.pop_back();
    out += std::string(2 * line.indent, ' ') + std::to_string(line.rank);
    const int parent = tree.parent[static_cast<std::size_t>(line.rank)];
    if (parent != kNoParent) {
      const auto crossed = boundaries.between(line.rank, parent);
      if (crossed) out += ' ' + std::string(level_name(*crossed));
    }
    out += '\n';
    const auto& children = tree.children[static_cast<std::size_t>(line.rank)];
    for (auto child = children.rbegin(); child != children.rend(); ++child) stack.push_back({*child, line.indent + 1});
  }
  return out;
}

}  // namespace copse::shape
