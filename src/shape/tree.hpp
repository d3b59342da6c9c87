// Trees of ranks: who passes a message on to whom. Pure combinatorics; a tree is built from a list of ranks, and says
// nothing of what flows along its edges, or in which direction.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace copse::shape {

// A rank without a parent: the root, or one that is in no tree (yet).
inline constexpr int kNoParent = -1;

// Children stand in the order in which their parent should serve them: the one whose branch takes longest first
// (NUMACol 3).
struct Tree {
  int root = 0;
  std::vector<int> parent;                 // by rank
  std::vector<std::vector<int>> children;  // by rank

  [[nodiscard]] int size() const { return static_cast<int>(parent.size()); }
  friend bool operator==(const Tree&, const Tree&) = default;
};

// How the members of one group are joined. The radix counts for k-nomial (2 is binomial) and k-ary (2 is binary).
// Bine is the binomial negabinary tree (De Sensi et al. 2025, distance halving): as many steps as a binomial tree, but
// the other half of the members is entered at its third nearest to the sender, on alternating sides: a third of the way
// round where a binomial tree goes half of it.
enum class Form : std::uint8_t { flat, chain, k_nomial, k_ary, bine };
struct Arrangement {
  Form form = Form::k_nomial;
  int radix = 2;
  friend bool operator==(const Arrangement&, const Arrangement&) = default;
};

// Adds the edges that join `members` below the one at position `root`. Every subtree holds consecutive members, so
// that the tree keeps the order of its list whichever member is the root; except in a chain whose root is neither
// first nor last, and in most bine trees: they go round. A k-nomial tree is at most ceil(log_k n) deep, a bine tree
// ceil(log_2 n), a k-ary one floor(log_k(n (k - 1) + 1)) or one more. Throws std::invalid_argument for a radix below 2
// or a root that is no position.
void link(Tree& tree, Arrangement arrangement, std::span<const int> members, std::size_t root);

// A tree over a permutation of the ranks 0 to n-1, with the rank at position `root` as its root. Throws
// std::invalid_argument also if `ranks` is no permutation.
[[nodiscard]] Tree make_tree(Arrangement arrangement, std::span<const int> ranks, std::size_t root = 0);

// A tree over the ranks 0 to n-1 in their order.
[[nodiscard]] Tree make_tree(Arrangement arrangement, int ranks, int root);

// An empty tree of n ranks, to be linked.
[[nodiscard]] Tree unlinked(int ranks, int root);

// Puts all children into serving order; among equals the order of linking stays. The measure is the number of steps
// that a branch takes when every rank serves one child at a time.
void order_children(Tree& tree);

// Steps until the last rank is reached when every rank serves one child at a time, in its order.
[[nodiscard]] int steps(const Tree& tree);

// Edges between the root and the rank farthest from it.
[[nodiscard]] int depth(const Tree& tree);

// All ranks, parents before children.
[[nodiscard]] std::vector<int> top_down(const Tree& tree);

// The ranks of a subtree: how far they reach, and how many they are.
struct Extent {
  int low = 0;
  int high = 0;
  int size = 0;
  [[nodiscard]] bool unbroken() const { return high - low + 1 == size; }
};
[[nodiscard]] std::vector<Extent> extents(const Tree& tree);  // of the subtree below each rank

// True if a reduction over this tree can keep rank order, as a non-commutative operator needs: every subtree holds an
// unbroken interval of ranks, so that each rank can combine its own value and its children's results in the order of
// combining_order, and the root gets rank 0 to P-1 from left to right.
[[nodiscard]] bool preserves_rank_order(const Tree& tree);

// A tree, and what would be asked of it for every rank again.
struct SurveyedTree : Tree {
  explicit SurveyedTree(Tree tree);
  std::vector<Extent> extents;  // of the subtree below each rank; of a forest, only in the tree of its root
  std::vector<int> place;       // of each rank among its parent's children, from 0
  int depth = 0, most_children = 0;
  bool keeps_order = false;  // preserves_rank_order
};

// The rank itself and its children in the order of the ranks that they stand for. Meaningful if
// preserves_rank_order(tree).
[[nodiscard]] std::vector<int> combining_order(const Tree& tree, int rank);

}  // namespace copse::shape
