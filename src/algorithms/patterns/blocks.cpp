// Gathers and scatters blocks along trees, and shares them.
#include "algorithms/patterns/blocks.hpp"

#include <algorithm>
#include <utility>

#include "algorithms/patterns/rounds.hpp"

namespace copse::algorithms {

using plan::Builder;
using plan::Operand;

namespace {

// The branches of a tree, as ranges of blocks. Each rank has one block.
class Branches {
 public:
  explicit Branches(const shape::SurveyedTree& tree) : tree_(tree) {}

  [[nodiscard]] bool is_leaf(int top) const { return ranks_below(top).size == 1; }
  // Returns all blocks from the first to the last of a branch, with those of other branches between them.
  [[nodiscard]] plan::Range span(int top) const {
    return plan::chunks_from(ranks_below(top).low, ranks_below(top).high - ranks_below(top).low + 1, tree_.size());
  }
  // Returns the blocks of a branch as runs of neighbours, but not the block of rank `without`.
  [[nodiscard]] std::vector<plan::Range> runs(int top, int without = shape::kNoParent) const {
    std::vector<int> ranks{top};
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      const auto& children = tree_.children[static_cast<std::size_t>(ranks[i])];
      ranks.insert(ranks.end(), children.begin(), children.end());
    }
    std::erase(ranks, without);
    return runs_of(std::move(ranks), tree_.size());
  }

 private:
  [[nodiscard]] const shape::RankSpan& ranks_below(int top) const { return tree_.spans[static_cast<std::size_t>(top)]; }

  const shape::SurveyedTree& tree_;
};

}  // namespace

void gather_up(Builder& builder, const shape::SurveyedTree& tree, int rank, int area) {
  const auto me = static_cast<std::size_t>(rank);
  const auto& children = tree.children[me];
  const Branches branches(tree);
  const bool is_root = rank == tree.root;
  if (tree.depth > 1) {
    builder.give_from_scratch();
    builder.put_into_scratch();
  }

  const std::vector<int> up{tree.parent[me]};
  // Says where the parent has blocks that this rank puts there.
  const auto there = [&](plan::Range blocks) {
    if (up.front() == tree.root) return Builder::output(blocks);
    return Operand{plan::Space::scratch, 0, -1, blocks, branches.span(up.front()).first};
  };
  const plan::Range mine = plan::chunks_from(rank, 1, tree.size());
  if (children.empty() && !is_root) {
    builder.give(area, up.front(), Builder::input(mine), there(mine));
    return builder.reclaim(up);
  }
  const plan::Range all = branches.span(rank);
  const Operand place = is_root ? Builder::output(all) : builder.open(area, up, builder.scratch(0, all));
  builder.copy(part_of(place, mine), Builder::input(mine));
  for (int child : children) {
    const plan::Range given = branches.span(child);
    const plan::Space from = branches.is_leaf(child) ? plan::Space::input : plan::Space::scratch;
    for (const plan::Range& run : branches.runs(child)) {
      const Operand home = part_of(place, run);
      builder.bring(area, child, {from, 0, -1, run, given.first}, home, given);
    }
  }
  if (is_root) return;
  const auto runs = branches.runs(rank);
  std::vector<Operand> homes;
  for (const plan::Range& run : runs) homes.push_back(there(run));
  builder.give_parts(area, std::vector<int>(runs.size(), up.front()), runs, place, homes);
  builder.reclaim(up);
}

void scatter_down(Builder& builder, const shape::SurveyedTree& tree, int rank, int area) {
  const auto me = static_cast<std::size_t>(rank);
  const auto& children = tree.children[me];
  const Branches branches(tree);
  if (tree.depth > 1) {
    builder.give_from_scratch();
    builder.put_into_scratch();
  }
  builder.pack(branches.span(tree.root).count);

  const auto block = [&](int of) {
    return plan::Range{static_cast<std::uint32_t>(of), 1, static_cast<std::uint32_t>(tree.size())};
  };
  // A child's own block comes after those of the ranks below it, because those ranks are waiting for the child.
  std::vector<int> readers;
  std::vector<plan::Range> parts;
  std::vector<Operand> homes;
  for (int child : children) {
    for (const plan::Range& run : branches.runs(child, child)) {
      parts.push_back(run);
      homes.push_back({plan::Space::scratch, 0, -1, run, branches.span(child).first});
    }
    parts.push_back(block(child));
    homes.push_back(Builder::output(block(child)));
    readers.resize(parts.size(), child);
  }
  if (rank == tree.root) {
    if (!children.empty()) builder.give_parts(area, readers, parts, Builder::input(branches.span(rank)), homes);
    builder.copy(Builder::output(block(rank)), Builder::input(block(rank)));
  } else {
    const int parent = tree.parent[me];
    const plan::Range given = branches.span(parent);
    const plan::Space from = parent == tree.root ? plan::Space::input : plan::Space::scratch;
    const auto fetch = [&](const Operand& home) {
      builder.bring(area, parent, {from, 0, -1, home.range, given.first}, home, given);
    };
    if (!children.empty()) {
      const plan::Range all = branches.span(rank);
      const Operand place = builder.open(area, children, builder.scratch(0, all));
      for (const plan::Range& run : branches.runs(rank, rank)) fetch(part_of(place, run));
      builder.give_parts(area, readers, parts, place, homes);
    }
    fetch(Builder::output(block(rank)));
  }
  builder.reclaim(children);
}

void share_blocks(Builder& builder, const Request& request, int area) {
  const auto others = request.others();
  const bool pairs = traits_of(request.collective).input == plan::Extent::row;
  std::vector<plan::Range> parts;
  for (int other : others) parts.push_back(pairs ? request.pair(request.rank, other) : request.block(other));
  builder.share_input(area, others, parts);
  builder.reclaim_input(others);
}

}  // namespace copse::algorithms
