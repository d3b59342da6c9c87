// Trees of ranks: who passes a message on to whom. This is pure combinatorics. A tree is built from a list of ranks,
// and does not say what flows along its edges or in which direction.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace copse::shape {

// The parent of a rank without one: the root, or a rank that is not in a tree (yet).
inline constexpr int kNoParent = -1;

// A parent's children are in the order in which it should serve them: the child whose branch takes longest comes first
// (NUMACol 3).
struct Tree {
  int root = 0;
  std::vector<int> parent;                 // by rank
  std::vector<std::vector<int>> children;  // by rank

  [[nodiscard]] int size() const { return static_cast<int>(parent.size()); }
  friend bool operator==(const Tree&, const Tree&) = default;
};

// How the members of one group are joined. Only k-nomial (radix 2 is binomial) and k-ary (radix 2 is binary) use the
// radix. Bine is the binomial negabinary tree (De Sensi et al. 2025, distance halving). It takes as many steps as a
// binomial tree. But a sender enters the other half of the members a third of the way round, where a binomial tree goes
// half of the way; the side alternates.
enum class Form : std::uint8_t { flat, chain, k_nomial, k_ary, bine };
struct Arrangement {
  Form form = Form::k_nomial;
  int radix = 2;
  friend bool operator==(const Arrangement&, const Arrangement&) = default;
};

// Adds the edges that join `members` below the one at position `root`. Every subtree holds consecutive members, so the
// tree keeps the order of its list for any root. Two kinds of tree do not, because they wrap around: a chain whose root
// is neither first nor last, and most bine trees. A k-nomial tree is at most ceil(log_k n) deep, a bine tree ceil(log_2
// n), and a k-ary tree floor(log_k(n (k - 1) + 1)) or one more. Throws std::invalid_argument if the radix is below 2 or
// the root is not a position.
void link(Tree& tree, Arrangement arrangement, std::span<const int> members, std::size_t root);

// Makes a tree over a permutation of the ranks 0 to n-1. The rank at position `root` is the root. Also throws
// std::invalid_argument if `ranks` is not a permutation.
[[nodiscard]] Tree make_tree(Arrangement arrangement, std::span<const int> ranks, std::size_t root = 0);

// Makes a tree over the ranks 0 to n-1 in their order.
[[nodiscard]] Tree make_tree(Arrangement arrangement, int ranks, int root);

// Returns a tree of n ranks without edges, ready for link().
[[nodiscard]] Tree unlinked(int ranks, int root);

// Puts all children into serving order. Equal children keep the order in which they were linked. The measure is the
// number of steps that a branch takes if every rank serves one child at a time.
void order_children(Tree& tree);

// Returns the steps until the last rank is reached if every rank serves one child at a time, in order.
[[nodiscard]] int steps(const Tree& tree);

// Returns the number of edges between the root and the rank farthest from it.
[[nodiscard]] int depth(const Tree& tree);

// Returns all ranks, parents before children.
[[nodiscard]] std::vector<int> top_down(const Tree& tree);

// The ranks of a subtree: the lowest, the highest, and their number.
struct RankSpan {
  int low = 0;
  int high = 0;
  int size = 0;
  [[nodiscard]] bool unbroken() const { return high - low + 1 == size; }
};
[[nodiscard]] std::vector<RankSpan> spans(const Tree& tree);  // for each rank, of the subtree below it

// Returns whether a reduction over this tree can keep rank order, as a non-commutative operator needs. It can if every
// subtree holds an unbroken interval of ranks. Then each rank combines its own value and its children's results in the
// order of combining_order, and the root gets ranks 0 to P-1 from left to right.
[[nodiscard]] bool preserves_rank_order(const Tree& tree);

// A tree with properties that would otherwise be computed again for every rank.
struct SurveyedTree : Tree {
  explicit SurveyedTree(Tree tree);
  std::vector<RankSpan> spans;  // for each rank, of its subtree; in a forest, only within the root's tree
  std::vector<int> place;       // for each rank, its index among its parent's children
  int depth = 0, most_children = 0;
  bool keeps_order = false;  // the value of preserves_rank_order
};

// Returns the rank itself and its children, in the order of the ranks in their subtrees. This has a meaning only if
// preserves_rank_order(tree).
[[nodiscard]] std::vector<int> combining_order(const Tree& tree, int rank);

}  // namespace copse::shape
