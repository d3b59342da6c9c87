// Unchanged communicators join and make calls under the scheduler.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string_view>

#include "../communicator/serving.hpp"
#include "calls.hpp"

namespace copse::schedules {
namespace {

bool full_sweep() {
  const char* const sweep = std::getenv("TEST_SWEEP");
  return sweep != nullptr && std::string_view(sweep) == "full";
}

// Starts calls on two communicators and makes blocking calls after them. Each rank ends them in a different order.
std::string start_and_run(Communicators& comms) {
  Communicator &one = *comms[0], &other = *comms[1];
  const int ranks = one.ranks();
  CallUnderTest reduced(one, call(Collective::allreduce, ranks, 3, 1));
  CallUnderTest given(other, call(Collective::broadcast, ranks, 2000, 2, ranks - 1));
  CallUnderTest gathered(one, call(Collective::allgather, ranks, 40, 3));
  reduced.start();
  given.start();
  gathered.start();
  std::string wrong;
  const auto note = [&](const std::string& what) {
    if (wrong.empty()) wrong = what;
  };
  if (one.rank() % 2 == 0) {
    note(gathered.finish());
    note(given.finish());
    note(reduced.finish());
    note(CallUnderTest(one, call(Collective::reduce, ranks, 5, 4, ranks - 1)).run());
  } else {
    note(CallUnderTest(one, call(Collective::reduce, ranks, 5, 4, ranks - 1)).run());
    note(given.finish());
    note(reduced.finish());
    note(gathered.finish());
  }
  note(CallUnderTest(other, call(Collective::barrier, ranks, 0, 5)).run());
  return wrong;
}

TEST(Calls, OfLanesEndRightAtRandom) {
  for (const int count : {2, 3}) {
    const Explored explored = random_schedules(40, ranks(count, 1, start_lanes_in_any_order));
    EXPECT_EQ(explored.wrong.value_or(""), "") << count << " ranks";
    std::printf("%lu executions, %lu points\n", explored.executions, explored.points);
  }
}

TEST(Calls, OfSizesThatNotAllRanksKnowEndRightAtRandom) {
  for (const int count : {2, 3}) {
    const Explored explored = random_schedules(full_sweep() ? 2000 : 20, ranks(count, 1, call_without_sizes));
    EXPECT_EQ(explored.wrong.value_or(""), "") << count << " ranks";
    std::printf("%lu executions, %lu points\n", explored.executions, explored.points);
  }
}

TEST(Calls, OfTwoCommunicatorsEndRightAtRandom) {
  for (const int count : {2, 3}) {
    const Explored explored = random_schedules(full_sweep() ? 5000 : 60, ranks(count, 2, start_and_run));
    EXPECT_EQ(explored.wrong.value_or(""), "") << count << " ranks";
    std::printf("%lu executions, %lu points\n", explored.executions, explored.points);
  }
}

// Callers start calls of all kinds, and helpers find their orders. (A rank that only polls looks for refusals at intervals of time,
// and the clock stands still here.)
TEST(Calls, OfHelpersEndRightAtRandom) {
  for (const auto& [callers, helpers] : {std::pair{1, 1}, std::pair{2, 1}, std::pair{2, 2}, std::pair{3, 1}}) {
    for (unsigned seed = 0; seed < 4; ++seed) {
      const auto body = [=, callers = callers](Communicators& comms) {
        return comms[0]->rank() < callers ? test::call_at_random(*comms[0], callers, 6, seed, 500, false) : test::help(*comms[0]);
      };
      const Explored explored = random_schedules(full_sweep() ? 1000 : 12, ranks(callers + helpers, 1, body, helpers));
      EXPECT_EQ(explored.wrong.value_or(""), "") << callers << " callers, " << helpers << " helpers, seed " << seed;
    }
  }
}

}  // namespace
}  // namespace copse::schedules
