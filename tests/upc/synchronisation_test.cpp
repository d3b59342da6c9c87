// Barriers in one and in two parts, and locks (UPC 1.3, 6.6.1 and 7.2.4).
#include <gtest/gtest.h>

#include <atomic>

#include "upc_threads.hpp"

namespace copse::test {
namespace {

class Synchronisation : public testing::TestWithParam<Kind> {};
INSTANTIATE_TEST_SUITE_P(, Synchronisation, testing::ValuesIn(kinds()), [](const auto& info) { return name_of(info.param); });

// Threads write in turn what all read after the barrier, in all its forms.
std::string turns() {
  const upc_shared words = upc_all_alloc(1, 64 * sizeof(int));
  for (int round = 0; round < 500; ++round) {
    const upc_shared word = upc_add(words, round % 64, sizeof(int), UPC_INDEFINITE);
    const Shared<int> here(word);
    if (round % THREADS == MYTHREAD) here = round;
    if (round % 4 == 0) {
      upc_barrier();
    } else if (round % 4 == 1) {
      upc_barrier_value(round);
    } else if (round % 4 == 2 && MYTHREAD % 2 == 0) {  // a value is compared only where it is given
      upc_barrier();
    } else {
      upc_notify_value(round);
      upc_wait_value(round);
    }
    if (here != round) return "after barrier " + std::to_string(round) + " the word is " + std::to_string(here);
    upc_barrier();
  }
  return "";
}

TEST_P(Synchronisation, BarriersOrderWhatThreadsWrite) {
  for (int threads = 1; threads <= 9; ++threads) EXPECT_EQ(run_upc(GetParam(), threads, turns), 0) << threads;
}

// A thread that has notified need do nothing more: the others' waits end before it waits. Thread 0 waits for a word between the
// two, which the others write after their waits.
TEST_P(Synchronisation, NotifyIsEnoughForTheOthers) {
  if (GetParam() == Kind::launched) GTEST_SKIP() << "the others may have no part of the memory of thread 0";
  for (const int threads : {2, 3, 7, 9})
    EXPECT_EQ(run_upc(GetParam(), threads,
                      []() -> std::string {
                        const upc_shared at_0 = upc_all_alloc(1, sizeof(int));
                        auto& count = *static_cast<std::atomic<int>*>(upc_cast(at_0));
                        if (MYTHREAD == 0) count.store(0);
                        upc_barrier();
                        for (int round = 1; round <= 100; ++round) {
                          upc_notify();
                          if (MYTHREAD == 0)
                            while (count.load() < round * (THREADS - 1)) usleep(10);
                          upc_wait();
                          if (MYTHREAD != 0) count.fetch_add(1);
                        }
                        return "";
                      }),
              0)
        << threads;
}

TEST_P(Synchronisation, OneHolderAtATime) {
  for (const int threads : {1, 2, 5})
    EXPECT_EQ(run_upc(GetParam(), threads,
                      []() -> std::string {
                        const int kRounds = GetParam() == Kind::launched ? 200 : 2000;
                        const upc_lock_t lock = upc_all_lock_alloc();
                        const upc_shared sum = upc_all_alloc(1, sizeof(long));
                        const Shared<long> value(sum);
                        if (MYTHREAD == 0) value = 0;
                        upc_barrier();
                        for (int round = 0; round < kRounds; ++round) {
                          if (round % 2 == 0) upc_lock(lock);
                          else
                            while (upc_lock_attempt(lock) == 0) usleep(1);
                          value = value + 1;
                          upc_unlock(lock);
                        }
                        upc_barrier();
                        if (value != long{kRounds} * THREADS) return "the sum is " + std::to_string(value);
                        upc_all_lock_free(lock);
                        const upc_lock_t own = upc_global_lock_alloc();
                        upc_lock(own);
                        if (upc_lock_attempt(own) != 0) return "a lock that is held was given again";
                        upc_lock_free(own);
                        return "";
                      }),
              0)
        << threads;
}

// A lock's place may be told through shared memory.
TEST_P(Synchronisation, LocksAreValues) {
  EXPECT_EQ(run_upc(GetParam(), 3,
                    []() -> std::string {
                      const upc_shared board = upc_all_alloc(static_cast<std::size_t>(THREADS), sizeof(upc_lock_t));
                      element_of<upc_lock_t>(board, MYTHREAD) = upc_global_lock_alloc();
                      upc_lock(element_of<upc_lock_t>(board, MYTHREAD));
                      upc_barrier();
                      const upc_lock_t theirs = element_of<upc_lock_t>(board, after(MYTHREAD));
                      if (upc_lock_attempt(theirs) != 0) return "got a lock that another thread holds";
                      upc_barrier();
                      upc_unlock(element_of<upc_lock_t>(board, MYTHREAD));
                      upc_barrier();
                      if (upc_lock_attempt(theirs) != 1) return "a free lock was not given";
                      upc_unlock(theirs);
                      upc_fence();
                      upc_barrier();
                      upc_lock_free(theirs);
                      return "";
                    }),
            0);
}

}  // namespace
}  // namespace copse::test
