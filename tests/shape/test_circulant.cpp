// Schedules over the circulant graph. Every rank gets every block, one at a time, from a rank that has it, in the
// fewest rounds.
#include <gtest/gtest.h>

#include <set>
#include <utility>

#include "shape/circulant.hpp"

namespace copse::shape {
namespace {

int log2_up(int ranks) {
  int rounds = 0;
  while ((1 << rounds) < ranks) ++rounds;
  return rounds;
}

void expect_broadcast(int ranks, int blocks) {
  SCOPED_TRACE(std::to_string(ranks) + " ranks, " + std::to_string(blocks) + " blocks");
  std::vector<std::vector<Arrival>> arrivals;
  for (int rank = 0; rank < ranks; ++rank) arrivals.push_back(circulant_arrivals(ranks, rank, blocks));
  const std::vector<int> skips = circulant_skips(ranks);
  std::set<int> distances(skips.begin(), skips.end());
  std::set<std::pair<int, int>> gives, gets;  // rank and round
  for (int rank = 1; rank < ranks; ++rank) {
    ASSERT_EQ(arrivals[static_cast<std::size_t>(rank)].size(), static_cast<std::size_t>(blocks));
    for (int block = 0; block < blocks; ++block) {
      const Arrival here = arrivals[static_cast<std::size_t>(rank)][static_cast<std::size_t>(block)];
      ASSERT_GE(here.from, 0);
      ASSERT_LT(here.from, ranks);
      EXPECT_TRUE(distances.count((rank + ranks - here.from) % ranks)) << "not over an edge of the graph";
      EXPECT_LT(here.round, blocks - 1 + log2_up(ranks));
      EXPECT_TRUE(gets.insert({rank, here.round}).second) << rank << " gets two blocks in round " << here.round;
      EXPECT_TRUE(gives.insert({here.from, here.round}).second) << here.from << " gives two in round " << here.round;
      const Arrival there = arrivals[static_cast<std::size_t>(here.from)][static_cast<std::size_t>(block)];
      if (here.from == 0) {
        EXPECT_GE(here.round, there.round);
      } else {
        EXPECT_GT(here.round, there.round) << here.from << " does not have block " << block << " yet";
      }
    }
  }
}

TEST(Circulant, SkipsHalveTheRanks) {
  EXPECT_EQ(circulant_skips(1), std::vector<int>{});
  EXPECT_EQ(circulant_skips(2), std::vector<int>{1});
  EXPECT_EQ(circulant_skips(17), (std::vector<int>{1, 2, 3, 5, 9}));
  EXPECT_EQ(circulant_skips(64), (std::vector<int>{1, 2, 4, 8, 16, 32}));
}

TEST(Circulant, IsARoundOptimalBroadcastForEveryNumberOfRanksAndBlocks) {
  for (int ranks = 1; ranks <= 70; ++ranks)
    for (int blocks = 1; blocks <= 20; ++blocks) expect_broadcast(ranks, blocks);
  for (const int ranks : {96, 127, 128, 129, 257, 500, 1000, 1023, 1025, 4099}) expect_broadcast(ranks, 29);
}

}  // namespace
}  // namespace copse::shape
