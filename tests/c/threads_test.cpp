// The C interface with threads as ranks: every type and operator, calls without data, and every mistake.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "../kernels/reference.hpp"
#include "c_ranks.hpp"

namespace {

namespace reference = copse::kernels::reference;
using copse::test::refused;
using copse::test::Variable;
using copse::test::with_meeting;
using copse::test::with_threads;

std::vector<char> elements(copse_type type, std::size_t count, int rank) {
  const std::size_t size = reference::describe(type).size;
  std::vector<char> result(count * size);
  std::uint64_t state = static_cast<std::uint64_t>(type) * 131 + static_cast<std::uint64_t>(rank) * 7 + count;
  for (std::size_t i = 0; i < count; ++i) reference::randomise(type, &result[i * size], state);
  return result;
}

std::string wrong_element(copse_op op, copse_type type, const std::vector<char>& got, std::size_t count) {
  const reference::Description description = reference::describe(type);
  const std::vector<char> a = elements(type, count, 0), b = elements(type, count, 1);
  std::vector<char> want(description.size);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t at = i * description.size;
    reference::compute(op, type, &a[at], &b[at], want.data());
    for (const reference::Part& part : description.parts)
      if (!reference::same(part, &got[at], want.data()))
        return "type " + std::to_string(type) + ", operator " + std::to_string(op) + ", element " + std::to_string(i) + " is " +
               reference::show(type, &got[at]) + ", expected " + reference::show(type, want.data());
  }
  return {};
}

TEST(Threads, EveryTypeAndOperator) {
  EXPECT_EQ(with_threads(2,
                         [](copse_comm* comm) -> std::string {
                           const int rank = copse_comm_rank(comm);
                           for (int t = 0; t < COPSE_TYPE_COUNT; ++t) {
                             for (int o = 0; o < COPSE_OP_COUNT; ++o) {
                               const auto type = static_cast<copse_type>(t);
                               const auto op = static_cast<copse_op>(o);
                               for (std::size_t count : {1, 3, 33}) {
                                 const std::vector<char> input = elements(type, count, rank);
                                 std::vector<char> all(input.size()), rooted(input.size());
                                 const copse_status expected = reference::defined(op, type) ? COPSE_OK : COPSE_ERROR_ARGUMENT;
                                 if (copse_allreduce(comm, input.data(), all.data(), count, type, op) != expected ||
                                     copse_reduce(comm, input.data(), rank == 1 ? rooted.data() : nullptr, count, type, op, 1) !=
                                         expected)
                                   return "type " + std::to_string(t) + ", operator " + std::to_string(o) + ": another status";
                                 if (expected != COPSE_OK) {
                                   if (std::string(copse_comm_message(comm)).find("not defined") == std::string::npos)
                                     return std::string("the message is: ") + copse_comm_message(comm);
                                   continue;
                                 }
                                 std::string wrong = wrong_element(op, type, all, count);
                                 if (wrong.empty() && rank == 1) wrong = wrong_element(op, type, rooted, count);
                                 if (!wrong.empty()) return wrong;
                               }
                             }
                           }
                           return {};
                         }),
            "");
}

TEST(Threads, NothingAtAllAndOneRank) {
  for (int ranks : {1, 3}) {
    EXPECT_EQ(with_threads(ranks,
                           [](copse_comm* comm) -> std::string {
                             if (copse_barrier(comm) != COPSE_OK) return "barrier";
                             if (copse_broadcast(comm, nullptr, 0, 0) != COPSE_OK) return "broadcast of nothing";
                             if (copse_reduce(comm, nullptr, nullptr, 0, COPSE_INT32, COPSE_SUM, 0) != COPSE_OK) return "reduce";
                             if (copse_allreduce(comm, nullptr, nullptr, 0, COPSE_INT32, COPSE_SUM) != COPSE_OK) return "allreduce";
                             std::int32_t in = 5, out = 0;
                             if (copse_allreduce(comm, &in, &out, 1, COPSE_INT32, COPSE_SUM) != COPSE_OK) return "allreduce of one";
                             return out == 5 * copse_comm_ranks(comm) ? "" : "a sum of " + std::to_string(out);
                           }),
              "");
  }
}

TEST(Threads, MistakesInCalls) {
  EXPECT_EQ(
      with_threads(
          2,
          [](copse_comm* comm) -> std::string {
            double in[4]{}, out[4]{};
            const auto wrong = [&](copse_status status, const char* word) {
              return refused(status, COPSE_ERROR_ARGUMENT, {word}, comm);
            };
            std::string all;
            all += wrong(copse_broadcast(comm, in, 8, 2), "root is 2; expected 0 to 1");
            all += wrong(copse_broadcast(comm, in, 8, -1), "root is -1");
            all += wrong(copse_broadcast(comm, nullptr, 8, 0), "buffer is null");
            all += wrong(copse_reduce(comm, in, out, 1, COPSE_DOUBLE, COPSE_SUM, 7), "root is 7");
            all += wrong(copse_reduce(comm, nullptr, out, 1, COPSE_DOUBLE, COPSE_SUM, 0), "input is null");
            all += wrong(copse_reduce(comm, in, nullptr, 1, COPSE_DOUBLE, COPSE_SUM, copse_comm_rank(comm)), "output is null");
            all += wrong(copse_allreduce(comm, in, nullptr, 1, COPSE_DOUBLE, COPSE_SUM), "output is null");
            all += wrong(copse_allreduce(comm, in, out, 1, COPSE_DOUBLE, COPSE_BAND), "BAND is not defined for type DOUBLE");
            all += wrong(copse_allreduce(comm, in, out, 1, COPSE_TYPE_COUNT, COPSE_SUM), "not defined");
            all += wrong(copse_allreduce(comm, in, out, 1, static_cast<copse_type>(-1), static_cast<copse_op>(99)), "not defined");
            all += wrong(copse_allreduce(comm, in, out, SIZE_MAX / 4, COPSE_DOUBLE, COPSE_SUM), "too large");
            if (copse_barrier(comm) != COPSE_OK) all += "a barrier after mistakes";
            return all;
          }),
      "");
}

TEST(Threads, MistakesWithoutACommunicator) {
  copse_comm* comm = nullptr;
  copse_meeting* meeting = nullptr;
  const auto wrong = [](copse_status status, const char* word) { return refused(status, COPSE_ERROR_ARGUMENT, {word}); };
  EXPECT_EQ(wrong(copse_meeting_create(0, &meeting), "at least 1 rank"), "");
  EXPECT_EQ(wrong(copse_meeting_create(2, nullptr), "handle"), "");
  EXPECT_EQ(wrong(copse_comm_create_threads(nullptr, 0, &comm), "null"), "");
  ASSERT_EQ(copse_meeting_create(2, &meeting), COPSE_OK);
  EXPECT_EQ(wrong(copse_comm_create_threads(meeting, 2, &comm), "rank is 2; expected 0 to 1"), "");
  EXPECT_EQ(wrong(copse_comm_create_threads(meeting, 0, nullptr), "null"), "");
  copse_meeting_free(meeting);
  EXPECT_EQ(wrong(copse_comm_join(nullptr, 0, 1, 1, &comm), "1 to 80 characters"), "");
  EXPECT_EQ(wrong(copse_comm_join("", 0, 1, 1, &comm), "1 to 80 characters"), "");
  EXPECT_EQ(wrong(copse_comm_join(std::string(81, 'x').c_str(), 0, 1, 1, &comm), "1 to 80 characters"), "");
  EXPECT_EQ(wrong(copse_comm_join("x", 1, 1, 1, &comm), "rank is 1"), "");
  EXPECT_EQ(wrong(copse_comm_join("x", 0, 0, 1, &comm), "at least 1 rank"), "");
  EXPECT_EQ(wrong(copse_comm_create(0, 1, nullptr, nullptr, &comm), "allgather"), "");
  EXPECT_EQ(wrong(copse_barrier(nullptr), "communicator is null"), "");
  EXPECT_EQ(wrong(copse_broadcast(nullptr, nullptr, 0, 0), "communicator is null"), "");
  EXPECT_EQ(copse_comm_rank(nullptr), -1);
  EXPECT_EQ(copse_comm_ranks(nullptr), -1);
  EXPECT_EQ(comm, nullptr);
  copse_comm_free(nullptr);
  copse_meeting_free(nullptr);
}

std::string wrong_sum(copse_comm* comm) {
  std::int32_t in = copse_comm_rank(comm) + 1, out = 0;
  if (copse_allreduce(comm, &in, &out, 1, COPSE_INT32, COPSE_SUM) != COPSE_OK) return copse_comm_message(comm);
  const int ranks = copse_comm_ranks(comm);
  return out == ranks * (ranks + 1) / 2 ? "" : "a sum of " + std::to_string(out);
}

// Some of the communicators live on. Under COPSE_CHECK every call on one looks at its boards.
TEST(Threads, AMeetingServesManyCommunicators) {
  for (const char* check : {"0", "1"}) {
    const Variable variable("COPSE_CHECK", check);
    EXPECT_EQ(with_meeting(3,
                           [](copse_meeting* meeting, int rank) -> std::string {
                             std::vector<copse_comm*> kept;
                             std::string wrong;
                             for (int turn = 0; turn < 20 && wrong.empty(); ++turn) {
                               copse_comm* comm = nullptr;
                               if (copse_comm_create_threads(meeting, rank, &comm) != COPSE_OK)
                                 return "turn " + std::to_string(turn) + ": " + copse_comm_message(nullptr);
                               wrong = wrong_sum(comm);
                               turn % 3 == 0 ? kept.push_back(comm) : copse_comm_free(comm);
                             }
                             for (copse_comm* comm : kept) wrong += wrong_sum(comm);
                             for (copse_comm* comm : kept) copse_comm_free(comm);
                             return wrong;
                           }),
              "");
  }
}

// The second of the two is told, and comes again as the other rank.
TEST(Threads, TwoGiveTheSameRank) {
  std::atomic<int> told{0};
  EXPECT_EQ(with_meeting(2,
                         [&](copse_meeting* meeting, int) -> std::string {
                           copse_comm* comm = nullptr;
                           std::string wrong;
                           if (const copse_status status = copse_comm_create_threads(meeting, 0, &comm); status != COPSE_OK) {
                             ++told;
                             wrong =
                                 refused(status, COPSE_ERROR_ARGUMENT, {"rank 0 is already another thread", "a rank of its own"});
                             if (copse_comm_create_threads(meeting, 1, &comm) != COPSE_OK) return copse_comm_message(nullptr);
                           }
                           wrong += wrong_sum(comm);
                           copse_comm_free(comm);
                           return wrong;
                         }),
            "");
  EXPECT_EQ(told, 1);
}

// A rank that could not make its communicator may try again. The other ranks are told and do so too.
TEST(Threads, AMeetingGoesOnAfterFailures) {
  copse_meeting* meeting = nullptr;
  copse_comm* comms[2] = {};
  ASSERT_EQ(copse_meeting_create(2, &meeting), COPSE_OK);
  for (int time = 0; time < 2; ++time) {
    const Variable variable("COPSE_REACH", "nowhere");
    EXPECT_EQ(refused(copse_comm_create_threads(meeting, 0, &comms[0]), COPSE_ERROR_VARIABLE, {"nowhere"}), "");
  }
  for (int time = 0; time < 2; ++time)
    EXPECT_EQ(refused(copse_comm_create_threads(meeting, 1, &comms[1]), COPSE_ERROR_UNREACHABLE, {"gathered"}), "");
  const auto make_and_use = [&](int rank) -> std::string {
    if (copse_comm_create_threads(meeting, rank, &comms[rank]) != COPSE_OK) return copse_comm_message(nullptr);
    return wrong_sum(comms[rank]);
  };
  std::string theirs;
  std::thread other([&] { theirs = make_and_use(1); });
  EXPECT_EQ(make_and_use(0), "");
  other.join();
  EXPECT_EQ(theirs, "");
  for (copse_comm* comm : comms) copse_comm_free(comm);
  copse_meeting_free(meeting);
}

TEST(Threads, ImpossibleVariables) {
  struct Mistake {
    const char *name, *value, *word;
  };
  for (const auto& [name, value, word] :
       {Mistake{"COPSE_ALGORITHM", "allreduce=knomal", "no allreduce algorithm is called 'knomal'"},
        Mistake{"COPSE_ALGORITHM", "alreduce=tiled", "did you mean 'allreduce'?"},
        Mistake{"COPSE_ALGORITHM", "bcast=flat:puut", "carrier of flat"},
        Mistake{"COPSE_ALGORITHM", "bcast=knomial:put:1", "radix from 2 to 64"},
        Mistake{"COPSE_ALGORITHM", "tiled", "expected collective=algorithm"},
        Mistake{"COPSE_FRAGMENT", "0", "expected none, halves, or a size"},
        Mistake{"COPSE_FRAGMENT", "12Q", "expected none, halves, or a size"},
        Mistake{"COPSE_REACH", "kernal", "did you mean 'kernel'?"}, Mistake{"COPSE_CHECK", "yes", "expected 0 or 1"},
        Mistake{"COPSE_NODES", "-1", "number of nodes"}, Mistake{"COPSE_CHEK", "1", "did you mean COPSE_CHECK?"},
        Mistake{"COPSE_TOPOLOGY", "package:2 pu", "COPSE_TOPOLOGY"},
        Mistake{"COPSE_TOPOLOGY", "/no/such/file.xml", "cannot open"}}) {
    const Variable variable(name, value);
    copse_meeting* meeting = nullptr;
    copse_comm* comm = nullptr;
    ASSERT_EQ(copse_meeting_create(1, &meeting), COPSE_OK);
    EXPECT_EQ(refused(copse_comm_create_threads(meeting, 0, &comm), COPSE_ERROR_VARIABLE, {word}), "") << name << "=" << value;
    EXPECT_NE(std::string(copse_comm_message(nullptr)).find(name), std::string::npos) << copse_comm_message(nullptr);
    copse_meeting_free(meeting);
  }
}

// Each rank may choose in each call whether its blocks are in place, also in calls in which other ways are tried.
TEST(Threads, OneRankInPlaceWhileCopseLearns) {
  const Variable eager("COPSE_LEARN", "eagerly");
  for (const std::size_t bytes : {std::size_t{8}, std::size_t{6000}, std::size_t{200000}}) {
    const auto calls = [bytes](copse_comm* comm) -> std::string {
      const int rank = copse_comm_rank(comm), ranks = copse_comm_ranks(comm);
      std::vector<char> given(bytes * static_cast<std::size_t>(ranks)), got(given.size());
      for (int call = 0; call < 600; ++call) {
        std::vector<char>& input = rank == 0 && call % 5 == 0 ? got : given;
        for (std::size_t i = 0; i < input.size(); ++i) input[i] = static_cast<char>(call + 10 * rank + static_cast<int>(i / bytes));
        if (copse_alltoall(comm, input.data(), got.data(), bytes) != COPSE_OK) return copse_comm_message(comm);
        for (std::size_t i = 0; i < got.size(); i += 7)
          if (got[i] != static_cast<char>(call + 10 * static_cast<int>(i / bytes) + rank))
            return "wrong data in call " + std::to_string(call);
      }
      return {};
    };
    EXPECT_EQ(with_threads(3, calls), "") << bytes << " bytes";
  }
}

TEST(Threads, EveryStatusHasASentence) {
  for (int status = COPSE_OK; status <= COPSE_ERROR_TRUNCATED + 1; ++status)
    EXPECT_GT(std::string(copse_status_text(static_cast<copse_status>(status))).size(), 10U);
}

}  // namespace
