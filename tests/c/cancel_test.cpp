// Threads that are cancelled (pthread_cancel) during a call of the C interface.
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/mman.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

#include "c_ranks.hpp"

namespace copse::test {
namespace {

// A thread that may be cancelled. The destructor waits for its end.
class Thread {
 public:
  explicit Thread(std::function<void()> body) : body_(std::move(body)) {
    pthread_create(&thread_, nullptr, [](void* self) -> void* { return static_cast<Thread*>(self)->body_(), nullptr; }, this);
  }
  Thread(const Thread&) = delete;
  Thread& operator=(const Thread&) = delete;
  ~Thread() { static_cast<void>(ended_by_cancellation()); }

  void cancel() { pthread_cancel(thread_); }
  [[nodiscard]] bool ended_by_cancellation() {
    if (!joined_) pthread_join(thread_, &result_);
    joined_ = true;
    return result_ == PTHREAD_CANCELED;
  }

 private:
  std::function<void()> body_;
  pthread_t thread_{};
  bool joined_ = false;
  void* result_ = nullptr;
};

// Sleeps long enough for a waiting thread to fall asleep, on a quiet machine.
void let_it_nap() { std::this_thread::sleep_for(std::chrono::milliseconds(300)); }

// Runs two ranks. Rank 0 is a thread that calls `waits`. Once it has been cancelled, rank 1 calls `then`.
std::string cancel_first(copse_comm* comm, const std::function<void(copse_comm*)>& waits,
                         const std::function<std::string(copse_comm*)>& then, std::atomic<bool>& cancelled) {
  if (copse_comm_rank(comm) == 1) {
    while (!cancelled) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return then(comm);
  }
  Thread thread([&] { waits(comm); });
  let_it_nap();
  thread.cancel();
  const bool ended = thread.ended_by_cancellation();
  cancelled = true;
  return ended ? "" : "the thread has ended otherwise";
}

// The first of two barriers may end well, because rank 0 announced itself before it waited.
std::string finds_rank_0_gone(copse_comm* comm) {
  copse_status status = copse_barrier(comm);
  if (status == COPSE_OK) status = copse_barrier(comm);
  return refused(status, COPSE_ERROR_LOST, {"barrier", "rank 0 has given up"}, comm);
}

void wait_in_a_barrier(copse_comm* comm) { copse_barrier(comm); }

TEST(Cancel, EndsACallThatWouldWaitForEver) {
  std::atomic<bool> cancelled{false};
  const auto body = [&](copse_comm* comm) { return cancel_first(comm, wait_in_a_barrier, finds_rank_0_gone, cancelled); };
  EXPECT_EQ(with_threads(2, body), "");
}

// The thread waits for the call that it has started before, and never begins the one that it was called for.
TEST(Cancel, BehindAStartedCall) {
  std::atomic<bool> cancelled{false};
  copse_request* request = nullptr;
  const auto waits = [&](copse_comm* comm) {
    if (copse_start_barrier(comm, &request) == COPSE_OK) copse_barrier(comm);
  };
  const auto body = [&](copse_comm* comm) -> std::string {
    const std::string wrong = cancel_first(comm, waits, finds_rank_0_gone, cancelled);
    if (copse_comm_rank(comm) == 0 && copse_wait(&request) == COPSE_OK) return "the started call has ended well; " + wrong;
    return wrong;
  };
  EXPECT_EQ(with_threads(2, body), "");
}

TEST(Cancel, OtherProcessesLearnOfIt) {
  void* const shared = mmap(nullptr, sizeof(std::atomic<bool>), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  auto& cancelled = *static_cast<std::atomic<bool>*>(shared);
  const auto body = [&](copse_comm* comm) { return cancel_first(comm, wait_in_a_barrier, finds_rank_0_gone, cancelled); };
  EXPECT_EQ(with_processes(2, body), "");
  munmap(shared, sizeof cancelled);
}

TEST(Cancel, CleanUpHandlersMayFreeTheCommunicator) {
  std::atomic<bool> cancelled{false};
  EXPECT_EQ(with_meeting(2,
                         [&](copse_meeting* meeting, int rank) -> std::string {
                           copse_comm* comm = nullptr;
                           if (copse_comm_create_threads(meeting, rank, &comm) != COPSE_OK) return copse_comm_message(nullptr);
                           if (rank == 1) {
                             while (!cancelled) std::this_thread::sleep_for(std::chrono::milliseconds(1));
                             std::string wrong = finds_rank_0_gone(comm);
                             copse_comm_free(comm);
                             return wrong;
                           }
                           Thread thread([&] {
                             pthread_cleanup_push([](void* handle) { copse_comm_free(static_cast<copse_comm*>(handle)); }, comm);
                             copse_barrier(comm);
                             pthread_cleanup_pop(0);
                           });
                           let_it_nap();
                           thread.cancel();
                           const bool ended = thread.ended_by_cancellation();
                           cancelled = true;
                           return ended ? "" : "the thread has ended otherwise";
                         }),
            "");
}

TEST(Cancel, LeavesARequestThatWasWaitedFor) {
  std::atomic<bool> cancelled{false};
  copse_request* request = nullptr;
  const auto waits = [&](copse_comm* comm) {
    if (copse_start_barrier(comm, &request) == COPSE_OK) copse_wait(&request);
  };
  const auto then = [](copse_comm* comm) -> std::string { return copse_barrier(comm) == COPSE_OK ? "" : copse_comm_message(comm); };
  EXPECT_EQ(with_threads(2,
                         [&](copse_comm* comm) -> std::string {
                           std::string wrong = cancel_first(comm, waits, then, cancelled);
                           if (copse_comm_rank(comm) == 1 || !wrong.empty()) return wrong;
                           return copse_wait(&request) == COPSE_OK ? "" : copse_comm_message(comm);
                         }),
            "");
}

// A cancellation that is already due takes effect only after the communicator has been made and freed.
TEST(Cancel, SparesTheMakingAndFreeingOfACommunicator) {
  EXPECT_EQ(with_meeting(2,
                         [](copse_meeting* meeting, int rank) -> std::string {
                           std::string wrong = "has not freed it";
                           Thread thread([&] {
                             pthread_cancel(pthread_self());
                             copse_comm* comm = nullptr;
                             const copse_status status = copse_comm_create_threads(meeting, rank, &comm);
                             if (status == COPSE_OK) copse_comm_free(comm);
                             wrong = status == COPSE_OK ? "" : copse_comm_message(nullptr);
                             pthread_testcancel();
                           });
                           if (!thread.ended_by_cancellation()) return "the thread has ended otherwise";
                           return wrong;
                         }),
            "");
}

TEST(Cancel, IsForbiddenToThoseWhoDisableIt) {
  std::atomic<bool> cancelled{false};
  const auto body = [&](copse_comm* comm) -> std::string {
    if (copse_comm_rank(comm) == 1) {
      while (!cancelled) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      return copse_barrier(comm) == COPSE_OK ? "" : copse_comm_message(comm);
    }
    copse_status status = COPSE_ERROR_LOST;
    Thread thread([&] {
      pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, nullptr);
      status = copse_barrier(comm);
    });
    let_it_nap();
    thread.cancel();
    let_it_nap();
    cancelled = true;
    if (thread.ended_by_cancellation()) return "the thread was cancelled";
    return status == COPSE_OK ? "" : copse_comm_message(comm);
  };
  EXPECT_EQ(with_threads(2, body), "");
}

// Two ranks and a helper, which is cancelled once both ranks have had it make a call. The next call ends with an error.
TEST(Cancel, OfAHelperIsNoticed) {
  copse_meeting* meeting = nullptr;
  ASSERT_EQ(copse_meeting_create_with_helpers(2, 1, &meeting), COPSE_OK);
  Thread helper([&] { copse_help_threads(meeting, 0); });
  std::atomic<int> served{0};
  std::atomic<bool> cancelled{false};
  const auto sum = [](copse_comm* comm) {
    int mine = 1, all = 0;
    copse_request* request = nullptr;
    const copse_status status = copse_start_allreduce(comm, &mine, &all, 1, COPSE_INT32, COPSE_SUM, &request);
    return status == COPSE_OK ? copse_wait(&request) : status;
  };
  std::vector<std::string> wrong(2);
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < 2; ++rank)
    ranks.emplace_back([&, rank] {
      copse_comm* comm = nullptr;
      std::string& said = wrong[static_cast<std::size_t>(rank)];
      copse_status status = copse_comm_create_threads(meeting, rank, &comm);
      if (status == COPSE_OK) status = sum(comm);
      if (status != COPSE_OK) said = copse_comm_message(comm);
      ++served;
      while (!cancelled) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      if (said.empty()) said = refused(sum(comm), COPSE_ERROR_LOST, {"allreduce", "rank 2 has given up"}, comm);
      copse_comm_free(comm);
    });
  while (served < 2) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  helper.cancel();
  EXPECT_TRUE(helper.ended_by_cancellation());
  cancelled = true;
  for (std::thread& rank : ranks) rank.join();
  copse_meeting_free(meeting);
  EXPECT_EQ(all_well(wrong), "");
}

}  // namespace
}  // namespace copse::test
