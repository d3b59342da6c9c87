// Blocks that go up and down trees, and blocks that ranks copy one after the other.
#include <algorithm>
#include <utility>

#include "algorithms/patterns/exchange.hpp"

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
      builder.copy(home, builder.take(area, child, {from, 0, -1, run, given.first}, home, given));
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
      builder.copy(home, builder.take(area, parent, {from, 0, -1, home.range, given.first}, home, given));
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

namespace {

int after_root(const Request& request, std::size_t position) {  // the rank at this position after the root
  return (request.root + 1 + static_cast<int>(position)) % request.ranks;
}

// Does the root's part. The ranks of its own node copy by themselves when the token comes to them.
void serve_tokens(Builder& builder, const Request& request, bool up) {
  std::vector<int> order;
  for (std::size_t i = 0; i + 1 < static_cast<std::size_t>(request.ranks); ++i) order.push_back(after_root(request, i));
  builder.loop();
  builder.copy(Builder::output(request.block(request.root)), Builder::input(request.block(request.root)));
  if (up) builder.expose_output();
  for (int other : order) {
    if (builder.shares_memory_with(other)) {
      if (!up) builder.give(0, std::vector{other}, Builder::input(request.block(other)));
      continue;
    }
    builder.loop();  // over the wire: one rank after the other, as the token comes to them
    if (up) {
      const Operand home = Builder::output(request.block(other));
      builder.copy(home, builder.take(0, other, Builder::input(request.block(other)), home));
    } else {
      builder.give(0, std::vector{other}, Builder::input(request.block(other)));
    }
  }
  builder.once();
  for (int other : order)
    if (up && builder.shares_memory_with(other)) builder.await_signal(0, other);
  builder.reclaim(order);
}

// The neighbours of a rank in the ring of its token, or -1 where it has none.
struct RingPlace {
  int before = -1, after = -1;

  RingPlace(const Request& request, int tokens) {
    const auto others = static_cast<std::size_t>(request.ranks - 1);
    const auto position = static_cast<std::size_t>((request.rank + request.ranks - request.root - 1) % request.ranks);
    const std::size_t rings = std::min(static_cast<std::size_t>(tokens), others);
    const auto ring_of = [&](std::size_t at) { return at * rings / others; };
    if (position > 0 && ring_of(position - 1) == ring_of(position)) before = after_root(request, position - 1);
    if (position + 1 < others && ring_of(position + 1) == ring_of(position)) after = after_root(request, position + 1);
  }
};

}  // namespace

void pass_tokens(Builder& builder, const Request& request, int tokens) {
  const bool up = traits_of(request.collective).output_at_root;
  if (request.rank == request.root) return serve_tokens(builder, request, up);

  const std::vector<int> root{request.root};
  const bool local = builder.shares_memory_with(request.root);
  const auto move = [&] {
    const plan::Range block = request.block(request.rank);
    if (!up) {
      const Operand home = Builder::output(block);
      builder.copy(home, builder.take(0, request.root, Builder::input(block), home));
    } else if (local) {
      builder.copy(builder.output_of(request.root, block), Builder::input(block));
    } else {
      builder.give(0, root, Builder::input(block));
    }
  };
  const RingPlace place(request, tokens);
  const auto pass_on = [&] {
    if (place.after >= 0) builder.signal(1, std::vector{place.after});
  };
  const Groups& regions = request.shared->groups(topology::Level::numa);
  const bool beside_root = regions.index_of(request.rank) == regions.index_of(request.root);

  builder.once();
  if (place.before >= 0) builder.await_signal(1, place.before);
  if (beside_root) pass_on();
  builder.loop(plan::LoopFragments::but_last);
  move();
  if (!beside_root) {
    builder.once();
    pass_on();
  }
  builder.loop(plan::LoopFragments::last);
  move();
  if (!up || !local) return;
  builder.once();
  builder.signal(0, root);
}

void go_round(Builder& builder, const Request& request) {
  const bool up = traits_of(request.collective).output_at_root;
  const auto move = [&](int of) {  // gives or takes a rank's block that the root pulls or the wire carries
    const Operand source = Builder::input(request.block(of)), target = Builder::output(request.block(of));
    const int giver = up ? of : request.root, taker = up ? request.root : of;
    if (request.rank == giver) return builder.give(0, std::vector{taker}, source);
    builder.copy(target, builder.take(0, giver, source, target));
  };
  const int ranks = request.ranks;
  builder.portion(std::max(0, ranks - 2));  // so that all ranks find out if there are too few portions
  builder.portion(0);

  if (request.rank != request.root) {
    const bool local = builder.shares_memory_with(request.root);
    if (up || !local) move(request.rank);
    if (!local) return;
    if (!up) builder.expose_output();
    builder.portion((request.rank + ranks - request.root - 1) % ranks);
    return builder.await_signal(0, request.root);
  }
  builder.copy(Builder::output(request.block(request.root)), Builder::input(request.block(request.root)));
  int turn = 0;
  for (const int other : request.others()) {
    const plan::Range block = request.block(other);
    const bool local = builder.shares_memory_with(other);
    if (up || !local) move(other);
    if (!up && local) builder.copy(builder.output_of(other, block), Builder::input(block));
    builder.portion(turn++);
    if (local) builder.signal(0, std::vector{other});
    builder.portion(0);
  }
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
