// The executor under the scheduler, with real plans of every algorithm. Several calls run in a row through rings so
// short that every call reuses them and a rank that runs ahead must wait.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string_view>

#include "node.hpp"

namespace copse::schedules {
namespace {

bool full_sweep() {
  const char* const sweep = std::getenv("TEST_SWEEP");
  return sweep != nullptr && std::string_view(sweep) == "full";
}

TEST(Executor, IsRightInEveryScheduleOfAFewPreemptions) {
  const Explored explored = every_schedule(full_sweep() ? 4 : 2, node(2, mixed_calls()));
  EXPECT_EQ(explored.wrong.value_or(""), "");
  EXPECT_TRUE(explored.whole);
  std::printf("%lu schedules\n", explored.executions);
}

TEST(Executor, OfThreeRanksIsRightInSchedulesOfOnePreemption) {
  const Explored explored = every_schedule(1, node(3, mixed_calls()), full_sweep() ? 100'000 : 3000);
  EXPECT_EQ(explored.wrong.value_or(""), "");
  std::printf("%lu schedules%s\n", explored.executions, explored.whole ? "" : ", cut short");
}

TEST(Executor, IsRightAtRandomAndWithOlderValues) {
  for (const int ranks : {2, 3, 4}) {
    const Explored explored = random_schedules(full_sweep() ? 20'000 : 300, node(ranks, mixed_calls()));
    EXPECT_EQ(explored.wrong.value_or(""), "") << ranks << " ranks";
  }
}

TEST(Executor, RunsEveryAlgorithmRightAtRandom) {
  std::uint64_t executions = 0, points = 0;
  for (const Algorithm& algorithm : algorithms::all()) {
    for (int c = 0; c < plan::kCarriers; ++c) {
      const auto carrier = static_cast<plan::Carrier>(c);
      if (!algorithm.carries(carrier)) continue;
      for (const int ranks : {2, 3, 4}) {
        const bool line = carrier == plan::Carrier::line;
        const std::size_t fragment = algorithm.fragments && !line ? 3 : 0;
        const std::size_t count = line ? 1 : 8;
        const std::vector<Part> parts{{&algorithm, carrier, count, 0, fragment},
                                      {&algorithm, carrier, count, ranks - 1},
                                      {find(Collective::broadcast, "flat"), plan::Carrier::line, 1, 1}};
        const Explored explored = random_schedules(full_sweep() ? 200 : 6, node(ranks, parts), 100 * executions + 1);
        EXPECT_EQ(explored.wrong.value_or(""), "") << algorithms::name_of(algorithm.collective) << ' ' << algorithm.name << ' '
                                                   << plan::name_of(carrier) << ", " << ranks << " ranks";
        executions += explored.executions;
        points += explored.points;
      }
    }
  }
  std::printf("%lu executions, %lu points\n", executions, points);
}

// A rank refuses a call. The other ranks leave the call if they must, and all ranks make the next call together.
TEST(Refusals, LeaveNobodyOutOfStepInSchedulesOfAFewPreemptions) {
  for (const int ranks : {2, 3}) {
    const Explored explored = every_schedule(full_sweep() ? 3
                                             : ranks == 2 ? 2
                                                          : 1,
                                             node(ranks, refused_calls(ranks)), full_sweep() ? 200'000 : 3000);
    EXPECT_EQ(explored.wrong.value_or(""), "") << ranks << " ranks";
    std::printf("%d ranks: %lu schedules%s\n", ranks, explored.executions, explored.whole ? "" : ", cut short");
  }
}

TEST(Refusals, LeaveNobodyOutOfStepAtRandom) {
  for (const int ranks : {2, 3, 4}) {
    for (std::uint64_t seed = 1; seed <= (full_sweep() ? 1000 : 60); ++seed) {
      const Explored explored = random_schedules(full_sweep() ? 20 : 4, node(ranks, refused_calls(ranks, seed)), seed);
      ASSERT_EQ(explored.wrong.value_or(""), "") << ranks << " ranks, seed " << seed;
    }
  }
}

// If a rank has posted and ended, a rank that waits for it gets the posted value, and not the news of the end.
TEST(Executor, TakesWhatARankGaveBeforeItEnded) {
  const Explored explored = every_schedule(2, node_with_end());
  EXPECT_EQ(explored.wrong.value_or(""), "");
  EXPECT_TRUE(explored.whole);
}

}  // namespace
}  // namespace copse::schedules
