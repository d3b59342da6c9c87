// Progress and Copse's thread under the scheduler.
#include <gtest/gtest.h>

#include "turns.hpp"

namespace copse::schedules {
namespace {

TEST(Turns, OfTwoThreadsEndInEverySchedule) {
  const Explored explored = every_schedule(2, turns(Turns::Kind::threads, 2));
  EXPECT_EQ(explored.wrong.value_or(""), "");
  EXPECT_TRUE(explored.whole);
  std::printf("%lu schedules\n", explored.executions);
}

TEST(Turns, OfThreeThreadsEndAtRandom) {
  const Explored explored = random_schedules(2000, turns(Turns::Kind::threads, 3));
  EXPECT_EQ(explored.wrong.value_or(""), "");
}

TEST(Turns, OfAThreadThatComputesAreCopsesAndEndInEverySchedule) {
  const Explored explored = every_schedule(2, turns(Turns::Kind::thread_of_copse, 1));
  EXPECT_EQ(explored.wrong.value_or(""), "");
  EXPECT_TRUE(explored.whole);
  std::printf("%lu schedules\n", explored.executions);
}

TEST(Turns, OfAThreadThatComputesEndAtRandom) {
  const Explored explored = random_schedules(2000, turns(Turns::Kind::thread_of_copse, 1));
  EXPECT_EQ(explored.wrong.value_or(""), "");
}

TEST(Turns, OfAThreadThatIsWatchedEndAtRandom) {
  const Explored explored = random_schedules(500, turns(Turns::Kind::watched, 1));
  EXPECT_EQ(explored.wrong.value_or(""), "");
}

TEST(Turns, AreGivenBackByAnException) {
  const Explored explored = apart([] { return random_schedules(300, turns(Turns::Kind::exception, 1)); });
  EXPECT_EQ(explored.wrong.value_or(""), "");
}

}  // namespace
}  // namespace copse::schedules
