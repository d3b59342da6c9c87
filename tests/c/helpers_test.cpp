// The C interface's communicators of threads that helper threads serve.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <numeric>
#include <span>

#include "c_ranks.hpp"

namespace copse::test {
namespace {

constexpr int kCommunicators = 2;

// Runs `body` in `ranks` threads, which have as many communicators, and lets `helpers` more serve them.
std::string with_helpers(int ranks, int helpers, const std::function<std::string(copse_comm*)>& body) {
  copse_meeting* meeting = nullptr;
  if (copse_meeting_create_with_helpers(ranks, helpers, &meeting) != COPSE_OK) return "no meeting";
  std::vector<std::string> wrong(static_cast<std::size_t>(ranks + helpers));
  std::vector<std::thread> threads;
  for (int number = 0; number < ranks + helpers; ++number)
    threads.emplace_back([&, number] {
      for (int turn = 0; turn < kCommunicators; ++turn) {
        copse_comm* comm = nullptr;
        const copse_status status =
            number < ranks ? copse_comm_create_threads(meeting, number, &comm) : copse_help_threads(meeting, number - ranks);
        std::string& said = wrong[static_cast<std::size_t>(number)];
        if (status != COPSE_OK) said += copse_comm_message(nullptr);
        if (comm != nullptr) said += body(comm);
        copse_comm_free(comm);
      }
    });
  for (std::thread& thread : threads) thread.join();
  copse_meeting_free(meeting);
  return all_well(wrong);
}

std::string start_and_run(copse_comm* comm) {
  const int rank = copse_comm_rank(comm), ranks = copse_comm_ranks(comm);
  std::string wrong;
  for (int turn = 0; turn < 50; ++turn) {
    const std::size_t count = turn % 10 == 9 ? 50000 : 3;
    std::vector<double> in(count, rank + turn), sum(count), given(count, rank == turn % ranks ? turn : -1);
    std::vector<double> rows(count * static_cast<std::size_t>(ranks)), row(count);
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = rank + turn + static_cast<double>(i);
    std::vector<double> in_place = rows;
    copse_request* requests[5] = {};
    int blocking = rank, total = 0;
    if (copse_start_allreduce(comm, in.data(), sum.data(), count, COPSE_DOUBLE, COPSE_SUM, &requests[0]) != COPSE_OK ||
        copse_start_broadcast(comm, given.data(), count * sizeof(double), turn % ranks, &requests[1]) != COPSE_OK ||
        copse_start_barrier(comm, &requests[2]) != COPSE_OK ||
        copse_start_reduce_scatter_block(comm, rows.data(), row.data(), count, COPSE_DOUBLE, COPSE_SUM, &requests[3]) != COPSE_OK ||
        copse_start_reduce_scatter_block(comm, in_place.data(), in_place.data(), count, COPSE_DOUBLE, COPSE_SUM, &requests[4]) !=
            COPSE_OK)
      return copse_comm_message(comm);
    // A blocking call among them is made by the ranks themselves, and so is a started call that helpers cannot make.
    if (copse_allreduce(comm, &blocking, &total, 1, COPSE_INT32, COPSE_SUM) != COPSE_OK) return copse_comm_message(comm);
    std::vector<int> all(static_cast<std::size_t>(ranks));
    copse_request* gathered = nullptr;
    if (copse_start_allgather(comm, &rank, sizeof rank, all.data(), &gathered) != COPSE_OK) return copse_comm_message(comm);
    for (copse_request*& request : requests)
      if (copse_wait(&request) != COPSE_OK) return copse_comm_message(comm);
    if (copse_wait(&gathered) != COPSE_OK) return copse_comm_message(comm);
    const double expected = ranks * (ranks - 1) / 2.0 + ranks * turn;
    bool rows_are_right = std::equal(row.begin(), row.end(), in_place.begin());
    for (std::size_t i = 0; i < count; ++i)
      rows_are_right &= row[i] == expected + ranks * static_cast<double>(static_cast<std::size_t>(rank) * count + i);
    if (sum.front() != expected || sum.back() != expected || !rows_are_right || given.back() != turn ||
        total != ranks * (ranks - 1) / 2 || all.back() != ranks - 1)
      wrong = "turn " + std::to_string(turn) + ": wrong";
  }
  return wrong;
}

TEST(Helpers, ServeStartedCalls) {
  for (const auto& [ranks, helpers] : {std::pair{1, 1}, std::pair{2, 1}, std::pair{3, 2}, std::pair{2, 3}})
    EXPECT_EQ(with_helpers(ranks, helpers, start_and_run), "") << ranks << " ranks, " << helpers << " helpers";
}

// Rank 0 gets the results of long calls while rank 1 computes and makes no call. Without helpers, rank 1 would have to take part.
// The calls are under way at the same time.
TEST(Helpers, MakeProgressWithoutACall) {
  constexpr int kCalls = 4;
  std::array<std::atomic<bool>, kCommunicators> has_results{};
  std::atomic<int> turn{0};
  const auto body = [&](copse_comm* comm) -> std::string {
    std::vector<std::vector<double>> in(kCalls), out(kCalls, std::vector<double>(100000));
    std::array<copse_request*, kCalls> requests{};
    for (std::size_t i = 0; i < kCalls; ++i) {
      in[i].assign(out[i].size(), static_cast<double>(i + 1));
      if (copse_start_allreduce(comm, in[i].data(), out[i].data(), in[i].size(), COPSE_DOUBLE, COPSE_SUM, &requests[i]) != COPSE_OK)
        return copse_comm_message(comm);
    }
    auto& results = has_results[static_cast<std::size_t>(turn.load())];
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (copse_comm_rank(comm) == 1 && !results.load() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    const bool came = copse_comm_rank(comm) == 0 || results.load();
    for (copse_request*& request : requests)
      if (copse_wait(&request) != COPSE_OK) return copse_comm_message(comm);
    results.store(true);
    if (copse_barrier(comm) != COPSE_OK) return copse_comm_message(comm);
    if (copse_comm_rank(comm) == 0) ++turn;
    for (std::size_t i = 0; i < kCalls; ++i)
      if (out[i].back() != 2 * static_cast<double>(i + 1)) return "a wrong result";
    return came ? "" : "no progress";
  };
  EXPECT_EQ(with_helpers(2, 1, body), "");
}

// Ranks free a communicator while their calls there are under way. The helpers must not wait for ever.
TEST(Helpers, LeaveWhereRanksLeaveCalls) {
  constexpr std::size_t kCalls = 5, kMany = 100'000;
  std::array<std::array<copse_request*, kCalls>, 2 * kCommunicators> requests{};
  std::array<double, 2 * kCommunicators> sums{};
  std::vector<std::vector<double>> rows(2 * kCommunicators, std::vector<double>(2 * kMany, 1.0));
  const double one = 1;
  std::atomic<std::size_t> next{0};
  const auto body = [&](copse_comm* comm) -> std::string {
    const std::size_t mine = next++;
    // Helpers may write to memory that stands for this buffer, even when the rank has left.
    if (copse_start_reduce_scatter_block(comm, rows[mine].data(), rows[mine].data(), kMany, COPSE_DOUBLE, COPSE_SUM,
                                         &requests[mine][0]) != COPSE_OK)
      return copse_comm_message(comm);
    for (copse_request*& request : std::span(requests[mine]).subspan(1))
      if (copse_start_reduce(comm, &one, &sums[mine], 1, COPSE_DOUBLE, COPSE_SUM, 1, &request) != COPSE_OK)
        return copse_comm_message(comm);
    return {};
  };
  EXPECT_EQ(with_helpers(2, 1, body), "");
  for (auto& of_comm : requests)
    for (copse_request*& request : of_comm) EXPECT_EQ(copse_wait(&request), COPSE_ERROR_ARGUMENT) << "its communicator is gone";
}

TEST(Helpers, MistakesAreTold) {
  copse_meeting* meeting = nullptr;
  EXPECT_EQ(refused(copse_meeting_create_with_helpers(2, 0, &meeting), COPSE_ERROR_ARGUMENT, {"1 helper"}, nullptr), "");
  ASSERT_EQ(copse_meeting_create(2, &meeting), COPSE_OK);
  EXPECT_EQ(refused(copse_help_threads(meeting, 0), COPSE_ERROR_ARGUMENT, {"without helpers"}, nullptr), "");
  copse_meeting_free(meeting);
  ASSERT_EQ(copse_meeting_create_with_helpers(2, 2, &meeting), COPSE_OK);
  EXPECT_EQ(refused(copse_help_threads(meeting, 2), COPSE_ERROR_ARGUMENT, {"helper is 2; expected 0 to 1"}, nullptr), "");
  copse_meeting_free(meeting);
}

TEST(Helpers, TwoComeUnderOneNumber) {
  copse_meeting* meeting = nullptr;
  ASSERT_EQ(copse_meeting_create_with_helpers(2, 1, &meeting), COPSE_OK);
  std::atomic<int> refused_ones{0};
  const auto helps = [&] {
    const copse_status status = copse_help_threads(meeting, 0);
    if (status == COPSE_ERROR_ARGUMENT) ++refused_ones;
    else EXPECT_EQ(status, COPSE_OK) << copse_comm_message(nullptr);
  };
  std::thread one(helps), other(helps);
  while (refused_ones == 0) std::this_thread::yield();
  const auto rank = [&](int number) {
    copse_comm* comm = nullptr;
    EXPECT_EQ(copse_comm_create_threads(meeting, number, &comm), COPSE_OK) << copse_comm_message(nullptr);
    copse_comm_free(comm);
  };
  std::thread second([&] { rank(1); });
  rank(0);
  second.join();
  one.join();
  other.join();
  EXPECT_EQ(refused_ones, 1);
  copse_meeting_free(meeting);
}

}  // namespace
}  // namespace copse::test
