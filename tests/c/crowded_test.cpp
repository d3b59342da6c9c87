// Two ranks that share a processor, although the machine had one for each when they met.
#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <ctime>

#include "c_ranks.hpp"

namespace copse::test {
namespace {

// Returns the processor time of this process in microseconds: other programs on the machine add nothing to it, but polls do.
double used_us() {
  timespec used{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return 1e6 * static_cast<double>(used.tv_sec) + 1e-3 * static_cast<double>(used.tv_nsec);
}

// Moves this process to the first processor that it may use.
bool bind_to_first() {
  cpu_set_t all, first;
  if (sched_getaffinity(0, sizeof all, &all) != 0) return false;
  int processor = 0;
  while (!CPU_ISSET(processor, &all)) ++processor;
  CPU_ZERO(&first);
  CPU_SET(processor, &first);
  return sched_setaffinity(0, sizeof first, &first) == 0;
}

// Without a word from the waiting ranks, each wait would take the polls before the first yield: a millisecond.
TEST(Crowded, RanksOnOneProcessorYieldToOneAnother) {
  cpu_set_t all;
  ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
  if (CPU_COUNT(&all) < 2) GTEST_SKIP() << "with one processor, ranks yield from the start";
  EXPECT_EQ(with_processes(2,
                           [](copse_comm* comm) -> std::string {
                             constexpr int kBatches = 5, kCalls = 200;
                             if (copse_barrier(comm) != COPSE_OK) return copse_comm_message(comm);
                             if (!bind_to_first()) return "could not be bound";
                             double least = 1e9;
                             for (int batch = 0; batch < kBatches; ++batch) {
                               const double begin = used_us();
                               for (int call = 0; call < kCalls; ++call)
                                 if (copse_barrier(comm) != COPSE_OK) return copse_comm_message(comm);
                               least = std::min(least, (used_us() - begin) / kCalls);
                             }
                             if (least > 100) return "a barrier took " + std::to_string(least) + " us";
                             return {};
                           }),
            "");
}

}  // namespace
}  // namespace copse::test
