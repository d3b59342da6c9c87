// Ranks join in memory under the scheduler.
#include <gtest/gtest.h>

#include "meeting.hpp"

namespace copse::schedules {
namespace {

TEST(Boards, HaveEveryRoundsBytesInEverySchedule) {
  const Explored explored = every_schedule(2, gathering(2, 3));
  EXPECT_EQ(explored.wrong.value_or(""), "");
  EXPECT_TRUE(explored.whole);
  std::printf("%lu schedules\n", explored.executions);
}

TEST(Boards, HaveEveryRoundsBytesAtRandom) {
  for (const int ranks : {2, 3, 4}) {
    const Explored explored = random_schedules(1000, gathering(ranks, 3));
    EXPECT_EQ(explored.wrong.value_or(""), "") << ranks << " ranks";
  }
}

TEST(Boards, TellOfARankThatLeavesEarly) {
  const Explored explored = every_schedule(2, gathering(2, 3, 1));
  EXPECT_EQ(explored.wrong.value_or(""), "");
  EXPECT_TRUE(explored.whole);
  const Explored random = random_schedules(1000, gathering(3, 3, 1));
  EXPECT_EQ(random.wrong.value_or(""), "");
}

TEST(Meetings, BringTogetherWhoComesForTheNthTime) {
  const Explored explored = every_schedule(1, comings(2));
  EXPECT_EQ(explored.wrong.value_or(""), "");
  EXPECT_TRUE(explored.whole);
  const Explored random = random_schedules(1000, comings(3));
  EXPECT_EQ(random.wrong.value_or(""), "");
}

}  // namespace
}  // namespace copse::schedules
