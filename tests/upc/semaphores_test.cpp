// Semaphores and transfers that signal (<copse/bupc.h>), and non-blocking transfers (<copse/upc_nb.h>).
#include <gtest/gtest.h>

#include <vector>

#include "copse/bupc.h"
#include "copse/upc_nb.h"
#include "upc_threads.hpp"

namespace copse::test {
namespace {

class Semaphores : public testing::TestWithParam<Kind> {};
INSTANTIATE_TEST_SUITE_P(, Semaphores, testing::ValuesIn(kinds()), [](const auto& info) { return name_of(info.param); });

// Every thread makes a semaphore and tells the others.
Shared<bupc_sem_t> semaphore_of(int thread, upc_shared board) { return at<bupc_sem_t>(thread, board.address); }
upc_shared semaphores(int flags) {
  const upc_shared board = upc_all_alloc(static_cast<std::size_t>(THREADS), sizeof(bupc_sem_t));
  semaphore_of(MYTHREAD, board) = bupc_sem_alloc(flags);
  upc_barrier();
  return board;
}

// A token goes round. Each thread adds to a number that only the token protects.
TEST_P(Semaphores, ATokenGoesRound) {
  for (const int threads : {1, 2, 3, 7})
    for (const int flags : {0, BUPC_SEM_BOOLEAN | BUPC_SEM_SPRODUCER | BUPC_SEM_SCONSUMER})
      EXPECT_EQ(run_upc(GetParam(), threads,
                        [flags]() -> std::string {
                          constexpr int kRounds = 300;
                          const upc_shared board = semaphores(flags), number = upc_all_alloc(1, sizeof(int));
                          const Shared<int> value = at<int>(0, number.address);
                          if (MYTHREAD == 0) {
                            value = 0;
                            bupc_sem_post(semaphore_of(0, board));
                          }
                          for (int round = 0; round < kRounds; ++round) {
                            bupc_sem_wait(semaphore_of(MYTHREAD, board));
                            if (value != round * THREADS + MYTHREAD) return "the number is " + std::to_string(value);
                            value = value + 1;
                            bupc_sem_post(semaphore_of(after(MYTHREAD), board));
                          }
                          upc_barrier();
                          if (MYTHREAD == 0 && bupc_sem_try(semaphore_of(0, board)) != 1) return "the token is lost";
                          if (bupc_sem_try(semaphore_of(MYTHREAD, board)) != 0) return "there is a second token";
                          upc_barrier();
                          bupc_sem_free(semaphore_of(after(MYTHREAD), board));
                          return "";
                        }),
                0)
          << threads;
}

// All threads post and wait at one semaphore, by different counts. Nothing is lost, and nothing is taken twice.
TEST_P(Semaphores, CountsAddUp) {
  EXPECT_EQ(run_upc(GetParam(), 5,
                    []() -> std::string {
                      const upc_shared board = semaphores(0);
                      const bupc_sem_t all = semaphore_of(0, board);
                      for (std::size_t i = 1; i <= 400; ++i) {
                        bupc_sem_postN(all, i % 5);
                        if (i % 2 == 0) {
                          bupc_sem_waitN(all, i % 5);
                        } else {
                          while (bupc_sem_tryN(all, i % 5) == 0) usleep(1);
                        }
                      }
                      upc_barrier();
                      if (bupc_sem_try(all) != 0) return "something is left";
                      upc_barrier();
                      bupc_sem_postN(all, 3);
                      upc_barrier();
                      if (MYTHREAD == 0) {
                        bupc_sem_waitN(all, 3 * static_cast<std::size_t>(THREADS));
                        if (bupc_sem_try(all) != 0) return "more was posted than was taken";
                      }
                      upc_barrier();
                      return "";
                    }),
            0);
}

// What was put is there when the semaphore says so.
TEST_P(Semaphores, ATransferSignals) {
  EXPECT_EQ(run_upc(GetParam(), 3,
                    []() -> std::string {
                      constexpr std::size_t kLong = 3000;
                      const upc_shared board = semaphores(0),
                                       room = upc_all_alloc(static_cast<std::size_t>(THREADS), kLong * sizeof(int)),
                                       empty = semaphores(0);
                      for (int round = 0; round < 100; ++round) {
                        const int to = after(MYTHREAD);
                        const std::vector<int> data(kLong, round * THREADS + MYTHREAD);
                        (round % 2 == 0 ? bupc_memput_signal : bupc_memput_signal_async)(
                            upc_shared{room.address, 0, to}, data.data(), kLong * sizeof(int), semaphore_of(to, board), 2);
                        bupc_sem_waitN(semaphore_of(MYTHREAD, board), 2);
                        const auto* const got = static_cast<const int*>(upc_cast(upc_shared{room.address, 0, MYTHREAD}));
                        for (const std::size_t i : {std::size_t{0}, kLong / 2, kLong - 1})
                          if (got[i] != round * THREADS + after(MYTHREAD, THREADS - 1)) return "got " + std::to_string(got[i]);
                        bupc_sem_post(semaphore_of(after(MYTHREAD, THREADS - 1), empty));
                        bupc_sem_wait(semaphore_of(MYTHREAD, empty));
                      }
                      return "";
                    }),
            0);
}

TEST_P(Semaphores, TransfersThatDoNotBlock) {
  EXPECT_EQ(run_upc(GetParam(), 3,
                    []() -> std::string {
                      const upc_shared a = upc_all_alloc(static_cast<std::size_t>(THREADS), 4 * sizeof(int));
                      const upc_shared mine{a.address, 0, MYTHREAD}, next{a.address, 0, after(MYTHREAD)};
                      const int given[4] = {MYTHREAD, 1, 2, 3};
                      int got[4] = {};
                      const upc_handle_t put = upc_memput_nb(mine, given, sizeof given);
                      upc_sync(put);
                      upc_barrier();
                      const upc_handle_t get = upc_memget_nb(got, next, sizeof got);
                      while (upc_sync_attempt(get) == 0) {
                      }
                      if (got[0] != after(MYTHREAD) || got[3] != 3) return "got " + std::to_string(got[0]);
                      upc_memset_nbi(mine, 0, 0);
                      upc_memget_nbi(got, mine, sizeof(int));
                      upc_synci();
                      if (upc_synci_attempt() != 1 || got[0] != MYTHREAD) return "then " + std::to_string(got[0]);
                      upc_barrier();
                      upc_sync(upc_memcpy_nb(upc_add(next, 2, sizeof(int), 4), upc_add(mine, 0, sizeof(int), 4), sizeof(int)));
                      upc_barrier();
                      const int copied = at<int>(MYTHREAD, a.address + 2 * sizeof(int));
                      return copied == after(MYTHREAD, THREADS - 1) ? "" : "copied " + std::to_string(copied);
                    }),
            0);
}

}  // namespace
}  // namespace copse::test
