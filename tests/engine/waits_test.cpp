// Waiting: how long naps are, and what a long wait takes of a processor.
#include <gtest/gtest.h>
#include <time.h>

#include <algorithm>
#include <chrono>

#include "engine/signal/wait.hpp"

namespace copse::engine {
namespace {

using std::chrono::microseconds, std::chrono::milliseconds, std::chrono::seconds, std::chrono::steady_clock;

// Returns how long a step of the slow path takes at least.
steady_clock::duration step_of(const WaitPolicy& policy, std::uint64_t round) {
  steady_clock::duration least = seconds(100);
  for (int i = 0; i < 20; ++i) {
    const auto begin = steady_clock::now();
    wait_slowly(policy, round);
    least = std::min(least, steady_clock::now() - begin);
  }
  return least;
}

TEST(Waits, NapsBecomeLonger) {
  for (const WaitPolicy& policy : {WaitPolicy::dedicated(), WaitPolicy::oversubscribed()}) {
    const std::uint64_t first = policy.stays + policy.yields;
    EXPECT_GE(step_of(policy, first), microseconds(policy.nap_us));
    EXPECT_LT(step_of(policy, first), microseconds(800)) << "a short wait ends soon";
    EXPECT_GE(step_of(policy, first + 100000), milliseconds(1));
    EXPECT_LT(step_of(policy, first + (std::uint64_t{1} << 40)), milliseconds(8)) << "naps stay short";
  }
}

double processor_seconds() {
  timespec used{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) / 1e9;
}

TEST(Waits, AWaitOfSecondsTakesLittleOfTheProcessor) {
  const auto end = steady_clock::now() + seconds(3);
  const double before = processor_seconds();
  EXPECT_TRUE(wait_until(WaitPolicy::dedicated(), [&] { return steady_clock::now() >= end; }, [] { return true; }));
  EXPECT_LT(processor_seconds() - before, 0.15);
}

}  // namespace
}  // namespace copse::engine
