// Trees over a list of ranks: that they are trees, how deep they are, and in which order they serve.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <stdexcept>

#include "shape/tree.hpp"

namespace copse::shape {
namespace {

const std::vector<Arrangement> kArrangements = {{Form::flat, 0},     {Form::chain, 0},    {Form::k_nomial, 2}, {Form::k_nomial, 3},
                                                {Form::k_nomial, 4}, {Form::k_nomial, 9}, {Form::k_ary, 2},    {Form::k_ary, 3},
                                                {Form::k_ary, 5},    {Form::bine, 0}};

std::string title(Arrangement arrangement, int ranks, int root) {
  return "form " + std::to_string(static_cast<int>(arrangement.form)) + " radix " + std::to_string(arrangement.radix) + " ranks " +
         std::to_string(ranks) + " root " + std::to_string(root);
}

void expect_tree(const Tree& tree, int ranks, int root) {
  ASSERT_EQ(tree.size(), ranks);
  EXPECT_EQ(tree.root, root);
  std::vector<int> order = top_down(tree);
  std::sort(order.begin(), order.end());
  std::vector<int> all(static_cast<std::size_t>(ranks));
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(order, all) << "every rank is reached once";
  for (int rank = 0; rank < ranks; ++rank) {
    const int parent = tree.parent[static_cast<std::size_t>(rank)];
    EXPECT_EQ(parent == kNoParent, rank == root);
    if (parent == kNoParent) continue;
    const auto& siblings = tree.children[static_cast<std::size_t>(parent)];
    EXPECT_EQ(std::count(siblings.begin(), siblings.end(), rank), 1);
  }
}

int rounds(int ranks, int radix) {  // ceil(log_radix ranks)
  int count = 0;
  for (long reached = 1; reached < ranks; reached *= radix) ++count;
  return count;
}

TEST(Tree, EveryFormIsATreeForEveryRoot) {
  for (const Arrangement arrangement : kArrangements) {
    for (int ranks = 1; ranks <= 33; ++ranks) {
      for (int root = 0; root < ranks; ++root) {
        SCOPED_TRACE(title(arrangement, ranks, root));
        const Tree tree = make_tree(arrangement, ranks, root);
        expect_tree(tree, ranks, root);
        const bool is_turned_chain = arrangement.form == Form::chain && root > 0 && root < ranks - 1;
        if (arrangement.form == Form::bine) continue;
        EXPECT_EQ(preserves_rank_order(tree), !is_turned_chain);
      }
    }
  }
}

TEST(Tree, DepthsAreThoseOfTheBooks) {
  for (int ranks = 1; ranks <= 70; ++ranks) {
    for (int root = 0; root < ranks; ++root) {
      SCOPED_TRACE(title({}, ranks, root));
      EXPECT_EQ(depth(make_tree({Form::flat, 0}, ranks, root)), std::min(ranks - 1, 1));
      EXPECT_EQ(depth(make_tree({Form::chain, 0}, ranks, root)), ranks - 1);
      for (const int radix : {2, 3, 5}) {
        EXPECT_LE(depth(make_tree({Form::k_nomial, radix}, ranks, root)), rounds(ranks, radix));
        // A complete k-ary tree of `levels` levels holds k^0 + ... + k^levels ranks. A root in the middle may cost one
        // more level, because its two sides are cut separately.
        int levels = 0;
        for (int held = 1, width = radix; held < ranks; held += width, width *= radix) ++levels;
        EXPECT_LE(depth(make_tree({Form::k_ary, radix}, ranks, root)), levels + (root > 0 ? 1 : 0));
      }
    }
  }
}

// NUMACol 3: a binomial tree serves N ranks, one child at a time, in ceil(log2 N) steps. The textbook's binary tree of
// 16 ranks takes 6.
TEST(Tree, BinomialTakesLogSteps) {
  for (int ranks = 1; ranks <= 130; ++ranks) {
    for (const int root : {0, ranks / 3, ranks - 1}) {
      EXPECT_EQ(steps(make_tree({Form::k_nomial, 2}, ranks, root)), rounds(ranks, 2)) << ranks << " root " << root;
    }
  }
  for (int ranks = 1; ranks <= 130; ++ranks)
    EXPECT_EQ(steps(make_tree({Form::bine, 0}, ranks, ranks / 3)), rounds(ranks, 2)) << ranks;
  EXPECT_EQ(steps(make_tree({Form::k_ary, 2}, 16, 0)), 6);
  EXPECT_EQ(steps(make_tree({Form::flat, 0}, 16, 0)), 15);
  EXPECT_EQ(steps(make_tree({Form::chain, 0}, 16, 0)), 15);
}

TEST(Tree, RootedAtItsFirstRankABinomialTreeIsTheUsualOne) {
  const Tree tree = make_tree({Form::k_nomial, 2}, 64, 0);
  for (int rank = 1; rank < 64; ++rank) EXPECT_EQ(tree.parent[static_cast<std::size_t>(rank)], rank & (rank - 1));
  EXPECT_EQ(tree.children[0], (std::vector<int>{32, 16, 8, 4, 2, 1}));
  EXPECT_EQ(make_tree({Form::k_nomial, 3}, 9, 0).children[0], (std::vector<int>{3, 6, 1, 2}));
}

// Returns the digits of a number to the base -2.
unsigned negabinary(int value) {
  unsigned digits = 0;
  for (unsigned bit = 0; value != 0; ++bit) {
    const int digit = value & 1;
    digits |= static_cast<unsigned>(digit) << bit;
    value = (value - digit) / -2;
  }
  return digits;
}

// De Sensi et al. 2025: among 2^k ranks, take the last digits of a rank that are equal. In its parent these digits have
// the other value. Ranks that are too large for k digits count as negative numbers.
TEST(Tree, BineIsTheNegabinaryTree) {
  for (int digits = 1; digits <= 8; ++digits) {
    const int ranks = 1 << digits;
    const auto digits_of = [&](int rank) {
      const unsigned form = negabinary(rank);
      return form < (1U << digits) ? form : negabinary(rank - ranks);
    };
    std::vector<int> rank_of(static_cast<std::size_t>(ranks), -1);
    for (int rank = 0; rank < ranks; ++rank) rank_of.at(digits_of(rank)) = rank;
    const Tree tree = make_tree({Form::bine, 0}, ranks, 0);
    for (int rank = 1; rank < ranks; ++rank) {
      const unsigned form = digits_of(rank);
      int equal = 1;
      while (equal < digits && ((form >> equal) & 1) == (form & 1)) ++equal;
      EXPECT_EQ(tree.parent[static_cast<std::size_t>(rank)], rank_of[form ^ ((1U << equal) - 1)]) << rank << " of " << ranks;
    }
  }
}

// The roots of the two halves are a third of the ring apart. In a binomial tree they are half of it apart.
TEST(Tree, BineStaysNear) {
  const auto farthest = [](Form form, int ranks) {
    const Tree tree = make_tree({form, 2}, ranks, 0);
    int most = 0;
    for (int rank = 1; rank < ranks; ++rank) {
      const int apart = std::abs(rank - tree.parent[static_cast<std::size_t>(rank)]);
      most = std::max(most, std::min(apart, ranks - apart));
    }
    return most;
  };
  EXPECT_EQ(farthest(Form::k_nomial, 64), 32);
  EXPECT_EQ(farthest(Form::bine, 64), 21);
  for (int ranks = 3; ranks <= 300; ++ranks)  // the rounding of odd halves adds up
    EXPECT_LE(farthest(Form::bine, ranks), ranks * 3 / 8 + 1) << ranks;
}

TEST(Tree, ServesTheDeepestBranchFirst) {
  for (const Arrangement arrangement : kArrangements) {
    for (int ranks = 2; ranks <= 40; ++ranks) {
      const Tree tree = make_tree(arrangement, ranks, ranks / 2);
      std::vector<int> branch(static_cast<std::size_t>(ranks));
      std::vector<int> order = top_down(tree);
      std::reverse(order.begin(), order.end());
      for (const int rank : order) {
        int wait = 0;
        int previous = ranks;
        for (const int child : tree.children[static_cast<std::size_t>(rank)]) {
          const int length = branch[static_cast<std::size_t>(child)];
          EXPECT_LE(length, previous) << title(arrangement, ranks, ranks / 2) << " at " << rank;
          previous = length;
          branch[static_cast<std::size_t>(rank)] = std::max(branch[static_cast<std::size_t>(rank)], ++wait + length);
        }
      }
      EXPECT_EQ(branch[static_cast<std::size_t>(tree.root)], steps(tree));
    }
  }
}

TEST(Tree, FollowsTheGivenOrderOfRanks) {
  const std::vector<int> ranks = {4, 2, 0, 1, 3};
  const Tree tree = make_tree({Form::chain, 0}, ranks);
  EXPECT_EQ(tree.root, 4);
  EXPECT_EQ(tree.parent, (std::vector<int>{2, 0, 4, 1, kNoParent}));
  EXPECT_FALSE(preserves_rank_order(tree));
}

// Combines strings in the order of the tree. No operator is less commutative.
TEST(Tree, CombiningOrderGivesRankOrder) {
  for (const Arrangement arrangement : kArrangements) {
    for (int ranks = 1; ranks <= 20; ++ranks) {
      for (int root = 0; root < ranks; ++root) {
        const Tree tree = make_tree(arrangement, ranks, root);
        if (!preserves_rank_order(tree)) continue;
        std::vector<std::string> value(static_cast<std::size_t>(ranks));
        std::string expected;
        for (int rank = 0; rank < ranks; ++rank) expected += static_cast<char>('A' + rank);
        std::vector<int> order = top_down(tree);
        std::reverse(order.begin(), order.end());
        for (const int rank : order) {
          std::string combined;
          for (const int part : combining_order(tree, rank)) {
            combined += part == rank ? std::string(1, static_cast<char>('A' + rank)) : value[static_cast<std::size_t>(part)];
          }
          value[static_cast<std::size_t>(rank)] = combined;
        }
        EXPECT_EQ(value[static_cast<std::size_t>(root)], expected) << title(arrangement, ranks, root);
      }
    }
  }
}

TEST(Tree, RefusesNonsense) {
  EXPECT_THROW(static_cast<void>(make_tree({Form::k_nomial, 1}, 4, 0)), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(make_tree({}, 4, 4)), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(make_tree({}, 4, -1)), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(make_tree({}, 0, 0)), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(make_tree({}, std::vector<int>{0, 0})), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(make_tree({}, std::vector<int>{0, 2})), std::invalid_argument);
}

}  // namespace
}  // namespace copse::shape
