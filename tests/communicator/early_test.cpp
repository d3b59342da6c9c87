// When Copse begins on a communicator, with all ranks played: they decide alike, and a start that does not pay never comes.
#include "communicator/early.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <vector>

namespace copse::communicator {
namespace {

// Returns before which call the ranks begin, or 0 if they do not within `calls`. `seconds` says what a call takes on a rank.
// Every tenth call is a started one, which is counted and neither timed nor a chance to look.
std::uint64_t begin(int ranks, std::uint64_t calls, double start, const std::function<double(int, std::uint64_t)>& seconds) {
  std::vector<Early> all(static_cast<std::size_t>(ranks));
  for (Early& each : all) each.begin(Early::kFirstLook);
  for (std::uint64_t number = 1; number <= calls; ++number) {
    Early::Words least;
    least.fill(std::numeric_limits<long long>::max());
    for (Early& each : all) each.count();
    if (number % 10 == 0) continue;
    if (all[0].must_look()) {
      for (const Early& each : all) {
        EXPECT_TRUE(each.must_look());
        const Early::Words mine = each.words(start);
        std::transform(mine.begin(), mine.end(), least.begin(), least.begin(),
                       [](long long a, long long b) { return std::min(a, b); });
      }
      int ready = 0;
      for (Early& each : all) ready += each.pays(least) ? 1 : 0;
      EXPECT_TRUE(ready == 0 || ready == ranks);
      if (ready == ranks) return number;
    }
    for (int rank = 0; rank < ranks; ++rank) {
      Early& each = all[static_cast<std::size_t>(rank)];
      if (each.is_timed()) each.add(seconds(rank, number));
    }
  }
  return 0;
}

TEST(Early, BeginsWhenTheCallsHaveCostTenStarts) {
  EXPECT_EQ(begin(3, 1000, 1e-3, [](int, auto) { return 200e-6; }), 64);   // 12.8 ms
  EXPECT_EQ(begin(3, 1000, 1e-3, [](int, auto) { return 100e-6; }), 128);  // 6.4 ms, then 12.8 ms
  EXPECT_EQ(begin(3, 1000, 1e-3, [](int, auto) { return 9e-6; }), 0);
}

TEST(Early, BeginsAfterAThousandCallsWhenTheyHaveCostOneStart) {
  EXPECT_EQ(begin(2, 100'000, 1e-3, [](int, auto) { return 1.1e-6; }), 1024);
  EXPECT_EQ(begin(2, 100'000, 10e-3, [](int, auto) { return 0.2e-6; }), 65536);
}

TEST(Early, CallsThatTakeTurnsAreTimedAlike) {
  for (const std::uint64_t period : {2, 4, 8, 16})
    for (std::uint64_t dear = 0; dear < period; ++dear) {
      const double each = 100e-6 * static_cast<double>(period);  // so that a call takes 100 us in the mean
      const std::uint64_t first = begin(2, 5000, 1e-3, [=](int, auto number) { return number % period == dear ? each : 1e-9; });
      EXPECT_TRUE(first >= 64 && first <= (period > 8 ? 2048 : 512))
          << "one of " << period << " calls is dear, number " << dear << ": " << first;
    }
}

TEST(Early, TheRankThatWaitsLeastCounts) {
  EXPECT_EQ(begin(4, 1000, 1e-3, [](int rank, auto) { return rank == 2 ? 1e-6 : 1.0; }), 0);
}

TEST(Early, OneCallThatWasHeldUpDoesNotCount) {
  const auto held_up = [](int, auto number) { return number / 8 == 3 ? 1.0 : 1e-6; };  // one call of eight is timed
  EXPECT_EQ(begin(2, 1000, 1e-3, held_up), 0);
}

// What the MPI makes in its first calls is not a cost of the later ones.
TEST(Early, TheFirstCallsDoNotCount) {
  EXPECT_EQ(begin(2, 1000, 1e-3, [](int, auto number) { return number <= 8 ? 1.0 : 1e-6; }), 0);
}

// A rank may begin after call 64 because calls were started meanwhile: the first blocking one has the next chance.
TEST(Early, LooksAtTheNextChanceIfACallWasMissed) {
  Early early;
  early.begin(64);
  for (int i = 0; i < 300; ++i) early.count();
  EXPECT_TRUE(early.must_look());
  EXPECT_FALSE(early.pays({0, -1}));
  EXPECT_FALSE(early.must_look());
  for (int i = 300; i < 512; ++i) early.count();
  EXPECT_TRUE(early.must_look());
}

TEST(StartCost, IsLearnedFromStartsAmongKinByThemselves) {
  StartCost cost;
  cost.add(0.1);
  const double anew = cost.expected(1);
  EXPECT_EQ(cost.expected(1, true), anew);
  cost.add(0.001, true);
  EXPECT_EQ(cost.expected(1), anew);
  EXPECT_EQ(cost.expected(1, true), 0.001);
  cost.add(0.003, true);
  EXPECT_DOUBLE_EQ(cost.expected(1, true), 0.002);
}

TEST(StartCost, IsLearnedFromTheStartsThatWereMade) {
  StartCost cost;
  EXPECT_GT(cost.expected(16), 2 * cost.expected(1));
  cost.add(20e-3);  // the first of a process does more
  EXPECT_LT(cost.expected(4), 3e-3);
  for (int i = 0; i < 20; ++i) cost.add(1e-3);
  EXPECT_NEAR(cost.expected(1), 1e-3, 1e-4);
}

}  // namespace
}  // namespace copse::communicator
