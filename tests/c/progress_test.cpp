// COPSE_PROGRESS=thread. Calls end while their ranks are in no call at all, and a forked child has a thread of its own
// only if it asks for one.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <atomic>
#include <chrono>
#include <numeric>

#include "c_ranks.hpp"

namespace copse::test {
namespace {

using namespace std::chrono_literals;

// Announces the end of a turn to ranks that are threads. They wait for it here because they must not make a call.
class Ended {
 public:
  void say(int turn) { turn_.store(turn); }
  [[nodiscard]] bool comes(int turn) const {
    const auto end = std::chrono::steady_clock::now() + 20s;
    while (turn_.load() < turn) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::sleep_for(1ms);
    }
    return true;
  }

 private:
  std::atomic<int> turn_{-1};
};

// The other ranks start a call and compute until rank 0, which waits for the call, has its result.
std::string while_others_compute(copse_comm* comm, Ended& ended) {
  const int rank = copse_comm_rank(comm), ranks = copse_comm_ranks(comm);
  for (int turn = 0; turn < 30; ++turn) {
    const std::size_t count = turn % 3 == 0 ? 1 : turn % 3 == 1 ? 1000 : 100'000;
    std::vector<double> in(count), out(count, -1);
    std::iota(in.begin(), in.end(), rank + turn);
    copse_request* requests[3] = {};
    copse_start_barrier(comm, &requests[0]);
    copse_start_allreduce(comm, in.data(), out.data(), count, COPSE_DOUBLE, COPSE_SUM, &requests[1]);
    copse_start_barrier(comm, &requests[2]);
    if (rank != 0 && !ended.comes(turn)) return "turn " + std::to_string(turn) + ": nobody moved the calls on";
    if (copse_wait_all(3, requests) != COPSE_OK) return copse_comm_message(comm);
    if (rank == 0) ended.say(turn);
    for (std::size_t i = 0; i < count; ++i)
      if (out[i] != ranks * (static_cast<double>(i) + turn) + ranks * (ranks - 1) / 2.0) return "a wrong sum";
    if (turn % 5 == 0) std::this_thread::sleep_for(5ms);  // long enough for an idle thread to fall asleep
    if (copse_barrier(comm) != COPSE_OK) return copse_comm_message(comm);
  }
  return {};
}

TEST(ProgressThread, MovesCallsOnWhileRanksCompute) {
  const Variable thread("COPSE_PROGRESS", "thread");
  Ended ended;
  EXPECT_EQ(with_threads(3, [&](copse_comm* comm) { return while_others_compute(comm, ended); }), "");
}

TEST(ProgressThread, IsRefusedWhereItsNameIsWrong) {
  const Variable thread("COPSE_PROGRESS", "threads");
  copse_comm* comm = nullptr;
  EXPECT_EQ(refused(copse_comm_join(fresh_name().c_str(), 0, 1, 1, &comm), COPSE_ERROR_VARIABLE,
                    {"COPSE_PROGRESS=threads", "did you mean 'thread'?"}),
            "");
}

// ThreadSanitizer does not support a fork of a process with threads.
#ifndef __SANITIZE_THREAD__
// Rank 0 is the parent, whose thread has been busy. Rank 1 is its child, which needs its own thread.
TEST(ProgressThread, ComesAnewInAForkedChild) {
  const Variable thread("COPSE_PROGRESS", "thread");
  Ended before;
  ASSERT_EQ(with_threads(2, [&](copse_comm* comm) { return while_others_compute(comm, before); }), "");
  copse_comm* kept = nullptr;  // so that the parent has its thread when it forks
  ASSERT_EQ(copse_comm_join(fresh_name().c_str(), 0, 1, 1, &kept), COPSE_OK);
  const std::string name = fresh_name();
  int told[2];
  ASSERT_EQ(pipe(told), 0);
  const pid_t child = fork();
  const int rank = child == 0;
  std::vector<double> in(100'000, rank + 1), out(in.size());
  copse_comm* comm = nullptr;
  copse_request* request = nullptr;
  bool right = copse_comm_join(name.c_str(), rank, 2, 20, &comm) == COPSE_OK &&
               copse_start_allreduce(comm, in.data(), out.data(), in.size(), COPSE_DOUBLE, COPSE_SUM, &request) == COPSE_OK;
  char byte = 0;
  if (child == 0) {
    alarm(20);
    right = right && read(told[0], &byte, 1) == 1;  // the parent has its result without a call of the child
  }
  right = right && copse_wait(&request) == COPSE_OK && out == std::vector<double>(in.size(), 3);
  if (child == 0) std::exit(right ? 0 : 1);  // runs all destructors
  EXPECT_EQ(write(told[1], &byte, 1), 1);
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(right && WIFEXITED(status) && WEXITSTATUS(status) == 0) << right << ' ' << status;
  copse_comm_free(comm);
  copse_comm_free(kept);
}
#endif

}  // namespace
}  // namespace copse::test
