// Moves the tiles of each subtree.
#include "algorithms/patterns/tile_trees.hpp"

#include "algorithms/patterns/sums.hpp"

namespace copse::algorithms {

using plan::Builder;
using plan::Operand;

namespace {

// Returns, for each rank of a tree, the tiles of the ranks in its subtree. Every subtree is an interval of ranks.
Held tiles_below(const shape::SurveyedTree& tree) {
  Held tiles;
  for (const shape::RankSpan& span : tree.spans) tiles.push_back(plan::chunks_from(span.low, span.size, tree.size()));
  return tiles;
}

}  // namespace

Held scatter_tiles(Builder& builder, const shape::SurveyedTree& tree, int rank, int area, Operand source) {
  const Held held = tiles_below(tree);
  const auto me = static_cast<std::size_t>(rank);
  const int parent = tree.parent[me];
  if (parent != shape::kNoParent) {
    const Operand home = Builder::output(held[me]);
    Operand offered = home;
    if (parent == tree.root) offered.space = source.space;
    builder.bring(area, parent, offered, home);
    source = Builder::output();
  }
  std::vector<plan::Range> parts;
  for (int child : tree.children[me]) parts.push_back(held[static_cast<std::size_t>(child)]);
  if (!parts.empty()) builder.give_parts(area, tree.children[me], parts, source);
  builder.reclaim(tree.children[me]);
  return held;
}

void gather_tiles_up(Builder& builder, const shape::SurveyedTree& tree, int rank, int area, Operand mine) {
  const Held below = tiles_below(tree);
  for (int child : tree.children[static_cast<std::size_t>(rank)]) {
    const plan::Range tiles = below[static_cast<std::size_t>(child)];
    const Operand home = part_of(mine, tiles);
    builder.bring(area, child, Builder::in_slot(tiles), home);
  }
  if (rank == tree.root) return;
  const std::vector<int> parent{tree.parent[static_cast<std::size_t>(rank)]};
  builder.post(area, parent, part_of(mine, below[static_cast<std::size_t>(rank)]));
}

}  // namespace copse::algorithms
