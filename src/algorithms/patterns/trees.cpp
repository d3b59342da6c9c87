// Values that go down a tree, and values that are combined up a tree.
#include "algorithms/patterns/trees.hpp"

#include "algorithms/patterns/sums.hpp"

namespace copse::algorithms {

using plan::Builder;
using plan::Operand;

void send_down(Builder& builder, const shape::SurveyedTree& tree, int rank, int area, Operand source, plan::Range range) {
  const auto& children = tree.children[static_cast<std::size_t>(rank)];
  const int parent = tree.parent[static_cast<std::size_t>(rank)];
  if (parent == shape::kNoParent) {
    builder.give(area, children, source);
  } else {
    Operand offered = Builder::output(range);
    if (parent == tree.root) offered.space = source.space;
    const Operand value = builder.take(area, parent, offered, Builder::output(range));
    builder.copy(Builder::output(range), value);
    if (!children.empty()) builder.give(area, children, Builder::output(range));
  }
  builder.reclaim(children);
}

namespace {

// Returns the number of the parent's scratch into which a rank puts its value. Scratch 0 is for what comes over the wire, and
// scratch 1 for sums.
int pushed_to(const shape::SurveyedTree& tree, int rank) { return 2 + tree.place[static_cast<std::size_t>(rank)]; }

// Combines this rank's input and what its children give on `area` into `place`.
void combine_below(Builder& builder, const shape::SurveyedTree& tree, int rank, int area, Operand place) {
  const auto& children = tree.children[static_cast<std::size_t>(rank)];
  const plan::Range range = place.range;
  // The order is that of the ranks if the tree keeps it. Otherwise it is some fixed order, the same in every call.
  std::vector<int> order{rank};
  if (tree.keeps_order) {
    order = shape::combining_order(tree, rank);
  } else {
    order.insert(order.end(), children.begin(), children.end());
  }
  std::vector<Fetch> items;
  std::size_t own_at = 0;
  for (int member : order) {
    if (member == rank) {
      own_at = items.size();
      items.emplace_back([range] { return Builder::input(range); });
    } else {
      const bool put = builder.puts(member), partial = !tree.children[static_cast<std::size_t>(member)].empty();
      const Operand given{partial && !put ? plan::Space::slot : plan::Space::input, 0, -1, range};
      items.emplace_back([&builder, area, member, given, number = put ? pushed_to(tree, member) : 0, range] {
        return builder.take(area, member, given, builder.scratch(number, range));
      });
    }
  }
  const bool far = place.rank >= 0 && place.rank != rank;
  fold(builder, place, items, own_at, far ? builder.scratch(1, range) : Operand{});
}

}  // namespace

Operand combine_in_root(Builder& builder, const shape::SurveyedTree& tree, int rank, int area, std::span<const int> readers,
                        plan::Range range) {
  builder.keep_in_slots();
  builder.put_into_scratch(tree.most_children + 2);
  const bool is_root = tree.parent[static_cast<std::size_t>(rank)] == shape::kNoParent;
  std::vector<int> up(readers.begin(), readers.end());
  if (!is_root) up = {tree.parent[static_cast<std::size_t>(rank)]};
  Operand there = Builder::output(range);
  if (!is_root && builder.puts(up.front())) there = Builder::scratch_of_peer(pushed_to(tree, rank), range);
  if (!is_root && tree.children[static_cast<std::size_t>(rank)].empty()) {
    builder.give(area, up.front(), Builder::input(range), there);
    builder.reclaim(up);
    return Builder::input(range);
  }
  const Operand home = Builder::in_slot(range);
  const Operand place =
      up.size() == 1 ? builder.open(is_root ? area + 1 : area, up.front(), home, there) : builder.open(area + 1, up, home);
  combine_below(builder, tree, rank, area, place);
  if (!is_root) builder.post(area, up, place);
  return place;
}

void combine_up(Builder& builder, const shape::SurveyedTree& tree, int rank, int area, int to) {
  const bool is_root = tree.parent[static_cast<std::size_t>(rank)] == shape::kNoParent;
  builder.keep_in_slots();
  builder.put_into_scratch(tree.most_children + 2);
  if (is_root && rank == to) return combine_below(builder, tree, rank, area, Builder::output());
  const int reader[] = {to};
  const Operand place = combine_in_root(builder, tree, rank, area, reader, {});
  if (is_root) builder.post(area + 1, reader, place);
  if (rank == to) {
    const Operand given = builder.puts(tree.root) ? Builder::output() : Builder::in_slot();
    builder.bring(area + 1, tree.root, given, Builder::output());
  }
}

}  // namespace copse::algorithms
