// Builds the plain trees, and computes properties of any tree.
#include "shape/tree.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>

namespace copse::shape {
namespace {

// An interval [begin, end) of positions in a list of members, with the position of its root.
struct Interval {
  std::size_t begin;
  std::size_t end;
  std::size_t root;

  [[nodiscard]] std::size_t size() const { return end - begin; }
};

class Linker {
 public:
  Linker(Tree& tree, std::span<const int> members) : tree_(tree), members_(members) {}

  void flat(Interval interval) {
    for (std::size_t i = interval.begin; i < interval.end; ++i) {
      if (i != interval.root) edge(interval.root, i);
    }
  }

  void chain(Interval interval) {
    for (std::size_t step = 1; step < interval.size(); ++step) {
      const auto at = [&](std::size_t i) { return interval.begin + (interval.root - interval.begin + i) % interval.size(); };
      edge(at(step - 1), at(step));
    }
  }

  // Cuts the interval into at most `radix` blocks. The size of a block is a power of the radix. The first member of
  // every other block becomes a child of the root, and the root's own block is cut again. If the root comes first, this
  // is the usual binomial tree.
  void k_nomial(Interval interval, std::size_t radix) {
    while (interval.size() > 1) {
      std::size_t block = 1;
      while (block * radix < interval.size()) block *= radix;
      Interval own = interval;
      for (std::size_t begin = interval.begin; begin < interval.end; begin += block) {
        const std::size_t end = std::min(begin + block, interval.end);
        if (interval.root >= begin && interval.root < end) {
          own = {begin, end, interval.root};
        } else {
          edge(interval.root, begin);
          k_nomial({begin, end, begin}, radix);
        }
      }
      interval = own;
    }
  }

  // Arranges the members in a ring and halves it again and again. One half is the mirror image of the other, so that
  // the roots of the two halves are near each other. For n = 2^k, the negabinary forms of the two roots differ in their
  // last bits.
  void bine(Interval interval) {
    const std::size_t members = interval.size();
    int halvings = 0;
    while ((std::size_t{1} << halvings) < members) ++halvings;
    std::vector<Edge> edges;
    const std::size_t at = bine_half({0, members, 0}, halvings, false, edges);
    const auto turned = [&](std::size_t position) {
      return interval.begin + (interval.root - interval.begin + members + position - at) % members;
    };
    for (const Edge& each : edges) edge(turned(each.parent), turned(each.child));
  }

  // Cuts the members to the left and to the right of the root into `radix` parts that are as even as possible. The
  // first member of each part becomes a child of the root.
  void k_ary(Interval interval, std::size_t radix) {
    const std::size_t left = interval.root - interval.begin;
    const std::size_t right = interval.end - interval.root - 1;
    std::size_t left_parts = 0;
    if (left > 0) left_parts = right == 0 ? radix : std::clamp<std::size_t>(radix * left / (left + right), 1, radix - 1);
    k_ary_side(interval.root, interval.begin, interval.root, left_parts, radix);
    k_ary_side(interval.root, interval.root + 1, interval.end, radix - left_parts, radix);
  }

 private:
  void edge(std::size_t parent, std::size_t child) {
    tree_.parent[static_cast<std::size_t>(members_[child])] = members_[parent];
    tree_.children[static_cast<std::size_t>(members_[parent])].push_back(members_[child]);
  }

  struct Edge {
    std::size_t parent;
    std::size_t child;
  };

  // Links one half below the root of the other. The half without the root lies to the right in every second halving; in
  // a mirror image it is the other way round. Returns the position of the root, which is in the larger half.
  static std::size_t bine_half(Interval interval, int halvings, bool mirrored, std::vector<Edge>& edges) {
    const std::size_t others = interval.size() / 2;
    if (others == 0) return interval.begin;
    const bool others_right = (halvings % 2 == 1) != mirrored;
    const std::size_t cut = others_right ? interval.end - others : interval.begin + others;
    const Interval left{interval.begin, cut, 0}, right{cut, interval.end, 0};
    const std::size_t root = bine_half(others_right ? left : right, halvings - 1, mirrored, edges);
    edges.push_back({root, bine_half(others_right ? right : left, halvings - 1, !mirrored, edges)});
    return root;
  }

  void k_ary_side(std::size_t root, std::size_t begin, std::size_t end, std::size_t parts, std::size_t radix) {
    for (std::size_t part = 0; part < parts; ++part) {
      const std::size_t first = begin + (end - begin) * part / parts;
      const std::size_t last = begin + (end - begin) * (part + 1) / parts;
      if (first == last) continue;
      edge(root, first);
      k_ary({first, last, first}, radix);
    }
  }

  Tree& tree_;
  std::span<const int> members_;
};

std::size_t as_index(int rank) { return static_cast<std::size_t>(rank); }

// Returns the steps that a rank's branch takes if its children are served in their present order.
int branch_steps(const std::vector<int>& children, const std::vector<int>& steps_of) {
  int longest = 0;
  for (std::size_t i = 0; i < children.size(); ++i) {
    longest = std::max(longest, static_cast<int>(i) + 1 + steps_of[as_index(children[i])]);
  }
  return longest;
}

}  // namespace

void link(Tree& tree, Arrangement arrangement, std::span<const int> members, std::size_t root) {
  if (root >= members.size()) throw std::invalid_argument("the root is not a position in the list");
  const bool has_radix = arrangement.form == Form::k_nomial || arrangement.form == Form::k_ary;
  if (has_radix && arrangement.radix < 2) throw std::invalid_argument("the radix of a tree must be at least 2");
  Linker linker(tree, members);
  const Interval all{0, members.size(), root};
  const auto radix = static_cast<std::size_t>(arrangement.radix);
  switch (arrangement.form) {
    case Form::flat: return linker.flat(all);
    case Form::chain: return linker.chain(all);
    case Form::k_nomial: return linker.k_nomial(all, radix);
    case Form::k_ary: return linker.k_ary(all, radix);
    case Form::bine: return linker.bine(all);
  }
}

Tree unlinked(int ranks, int root) {
  if (root < 0 || root >= ranks) throw std::invalid_argument("the root of a tree must be one of its ranks");
  return {root, std::vector<int>(as_index(ranks), kNoParent), std::vector<std::vector<int>>(as_index(ranks))};
}

Tree make_tree(Arrangement arrangement, std::span<const int> ranks, std::size_t root) {
  std::vector<bool> seen(ranks.size());
  for (const int rank : ranks) {
    if (rank < 0 || as_index(rank) >= ranks.size() || seen[as_index(rank)]) {
      throw std::invalid_argument("a tree needs every rank from 0 exactly once");
    }
    seen[as_index(rank)] = true;
  }
  if (root >= ranks.size()) throw std::invalid_argument("the root is not a position in the list");
  Tree tree = unlinked(static_cast<int>(ranks.size()), ranks[root]);
  link(tree, arrangement, ranks, root);
  order_children(tree);
  return tree;
}

Tree make_tree(Arrangement arrangement, int ranks, int root) {
  std::vector<int> list(as_index(std::max(ranks, 0)));
  std::iota(list.begin(), list.end(), 0);
  return make_tree(arrangement, list, as_index(root));
}

std::vector<int> top_down(const Tree& tree) {
  std::vector<int> order = {tree.root};
  order.reserve(tree.parent.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto& children = tree.children[as_index(order[i])];
    order.insert(order.end(), children.begin(), children.end());
  }
  return order;
}

void order_children(Tree& tree) {
  std::vector<int> steps_of(tree.parent.size());
  const std::vector<int> order = top_down(tree);
  for (auto rank = order.rbegin(); rank != order.rend(); ++rank) {
    auto& children = tree.children[as_index(*rank)];
    std::stable_sort(children.begin(), children.end(), [&](int a, int b) { return steps_of[as_index(a)] > steps_of[as_index(b)]; });
    steps_of[as_index(*rank)] = branch_steps(children, steps_of);
  }
}

int steps(const Tree& tree) {
  std::vector<int> steps_of(tree.parent.size());
  const std::vector<int> order = top_down(tree);
  for (auto rank = order.rbegin(); rank != order.rend(); ++rank) {
    steps_of[as_index(*rank)] = branch_steps(tree.children[as_index(*rank)], steps_of);
  }
  return steps_of[as_index(tree.root)];
}

int depth(const Tree& tree) {
  std::vector<int> level(tree.parent.size());
  int deepest = 0;
  for (const int rank : top_down(tree)) {
    if (rank == tree.root) continue;
    level[as_index(rank)] = level[as_index(tree.parent[as_index(rank)])] + 1;
    deepest = std::max(deepest, level[as_index(rank)]);
  }
  return deepest;
}

std::vector<RankSpan> spans(const Tree& tree) {
  std::vector<RankSpan> result(tree.parent.size());
  const std::vector<int> order = top_down(tree);
  for (auto rank = order.rbegin(); rank != order.rend(); ++rank) {
    RankSpan& whole = result[as_index(*rank)] = {*rank, *rank, 1};
    for (const int child : tree.children[as_index(*rank)]) {
      const RankSpan& part = result[as_index(child)];
      whole = {std::min(whole.low, part.low), std::max(whole.high, part.high), whole.size + part.size};
    }
  }
  return result;
}

bool preserves_rank_order(const Tree& tree) {
  const std::vector<RankSpan> all = spans(tree);
  return std::all_of(all.begin(), all.end(), [](const RankSpan& each) { return each.unbroken(); });
}

SurveyedTree::SurveyedTree(Tree tree) : Tree(std::move(tree)) {
  spans = shape::spans(*this);
  place.resize(parent.size());
  for (const auto& siblings : children) {
    most_children = std::max(most_children, static_cast<int>(siblings.size()));
    for (std::size_t i = 0; i < siblings.size(); ++i) place[as_index(siblings[i])] = static_cast<int>(i);
  }
  depth = shape::depth(*this);
  keeps_order = std::all_of(spans.begin(), spans.end(), [](const RankSpan& each) { return each.unbroken(); });
}

std::vector<int> combining_order(const Tree& tree, int rank) {
  // If every subtree is an interval, a child lies on the same side of its parent as all ranks of the child's subtree.
  std::vector<int> order = tree.children[as_index(rank)];
  order.push_back(rank);
  std::sort(order.begin(), order.end());
  return order;
}

}  // namespace copse::shape
