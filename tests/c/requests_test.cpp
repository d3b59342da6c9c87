// The C interface's calls with blocks and requests: what they refuse, what they truncate, and how started calls end.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdint>
#include <cstring>

#include "c_ranks.hpp"

namespace copse::test {
namespace {

constexpr std::size_t kHuge = SIZE_MAX - 3;  // what -4 looks like

TEST(Mistakes, AreToldBeforeAnythingIsDone) {
  const auto body = [](copse_comm* comm) -> std::string {
    const int rank = copse_comm_rank(comm);
    const auto me = static_cast<std::size_t>(rank);
    char in[64]{}, out[64]{};
    double numbers[8]{}, sums[8]{};
    const std::size_t sizes[] = {8, 4}, places[] = {16, 0}, touching[] = {3, 0}, far[] = {0, SIZE_MAX / 2};
    const std::size_t huge[] = {1, kHuge};
    const int swap[] = {1, 0};
    std::string all;
    const auto wrong = [&](copse_status status, std::initializer_list<const char*> words) {
      all += refused(status, COPSE_ERROR_ARGUMENT, words, comm);
    };
    // Roots.
    wrong(copse_gather(comm, in, 8, out, 2), {"copse_gather", "root is 2; expected 0 to 1"});
    wrong(copse_gatherv(comm, in, 8, out, sizes, places, -1), {"copse_gatherv", "root is -1"});
    wrong(copse_scatter(comm, in, out, 8, 3), {"copse_scatter", "root is 3"});
    wrong(copse_scatterv(comm, in, sizes, places, out, 8, 3), {"copse_scatterv", "root is 3"});
    // Null.
    wrong(copse_gather(comm, in, 8, nullptr, rank), {"output is null; expected 16 bytes on the root"});
    wrong(copse_gather(comm, nullptr, 8, out, rank), {"input is null; expected 8 bytes"});
    wrong(copse_scatter(comm, nullptr, out, 8, rank), {"input is null; expected 16 bytes"});
    wrong(copse_allgather(comm, in, 8, nullptr), {"output is null"});
    wrong(copse_alltoall(comm, nullptr, out, 8), {"input is null"});
    wrong(copse_scan(comm, numbers, nullptr, 2, COPSE_DOUBLE, COPSE_SUM), {"output is null; expected 16 bytes"});
    wrong(copse_exscan(comm, nullptr, sums, 2, COPSE_DOUBLE, COPSE_SUM), {"input is null"});
    wrong(copse_gatherv(comm, in, 8, out, nullptr, places, rank), {"sizes of the blocks of output are null", "2 ranks"});
    wrong(copse_scatterv(comm, in, nullptr, nullptr, out, 8, rank), {"sizes of the blocks of input are null"});
    wrong(copse_allgatherv(comm, in, out, nullptr, nullptr), {"sizes of the blocks of output are null"});
    wrong(copse_alltoallv(comm, in, nullptr, nullptr, out, sizes, nullptr), {"sizes of the blocks of input"});
    wrong(copse_alltoallv(comm, in, sizes, nullptr, out, nullptr, nullptr), {"sizes of the blocks of output"});
    wrong(copse_reduce_scatter(comm, numbers, sums, nullptr, COPSE_DOUBLE, COPSE_SUM), {"copse_reduce_scatter", "input"});
    // Sizes that are negative, or whose sum overflows.
    wrong(copse_broadcast(comm, in, kHuge, 0), {"buffer is too large", "18446744073709551612", "negative"});
    wrong(copse_gather(comm, in, SIZE_MAX / 3, out, rank), {"output is too large", "from each of 2 ranks"});
    wrong(copse_allgatherv(comm, in, out, huge, nullptr), {"block 1 of output is too large"});
    wrong(copse_scatterv(comm, in, sizes, far, out, 8, rank), {"block 1 of input is too large", "from byte 92233"});
    wrong(copse_reduce_scatter_block(comm, numbers, sums, SIZE_MAX / 12, COPSE_DOUBLE, COPSE_SUM), {"input is too large"});
    // Overlap.
    wrong(copse_allreduce(comm, numbers, numbers + 1, 4, COPSE_DOUBLE, COPSE_SUM), {"overlap by 24 bytes", "in place"});
    wrong(copse_gather(comm, out + 1 + 8 * me, 8, out, rank), {"overlap by "});
    wrong(copse_allgather(comm, out + 8 * (1 - me), 8, out), {"output and input overlap by 8 bytes"});
    wrong(copse_scatter(comm, in, in + 8 * (1 - me), 8, rank), {"input and output overlap by 8 bytes"});
    wrong(copse_alltoall(comm, in, in + 8, 8), {"input and output overlap by 8 bytes"});
    wrong(copse_alltoallv(comm, in, sizes, places, in + 20, sizes, nullptr), {"overlap by 4 bytes"});
    wrong(copse_allgatherv(comm, in, out, sizes, touching), {"blocks of output overlap"});
    wrong(copse_permute(comm, in, in + 4, swap, 8), {"input and output overlap by 4 bytes"});
    // Permutations.
    const int beyond[] = {0, 2}, negative[] = {-1, 0}, twice[] = {1, 1};
    wrong(copse_permute(comm, in, out, nullptr, 8), {"copse_permute", "permutation is null", "each of 2 ranks"});
    wrong(copse_permute(comm, in, out, beyond, 8), {"copse_permute", "permutation[1] is 2; expected a rank, 0 to 1"});
    wrong(copse_permute(comm, in, out, negative, 8), {"permutation[0] is -1; expected a rank"});
    wrong(copse_permute(comm, in, out, twice, 0), {"permutation[1] is 1, as permutation[0] is; expected every rank once"});
    wrong(copse_permute(comm, in, nullptr, swap, 8), {"output is null; expected 8 bytes"});
    // Operators.
    wrong(copse_scan(comm, numbers, sums, 2, COPSE_DOUBLE, COPSE_BXOR), {"BXOR is not defined for type DOUBLE"});
    wrong(copse_reduce_scatter(comm, numbers, sums, sizes, COPSE_TYPE_COUNT, COPSE_SUM), {"not defined"});
    // Started calls.
    copse_request* request = reinterpret_cast<copse_request*>(8);
    wrong(copse_start_gather(comm, in, 8, out, 2, &request), {"copse_gather", "root is 2"});
    if (request != nullptr) all += "a refused call leaves a request";
    wrong(copse_start_barrier(comm, nullptr), {"place for the request is null"});
    return all;
  };
  EXPECT_EQ(with_threads(2, body), "");
}

TEST(Mistakes, AreNot) {
  const auto body = [](copse_comm* comm) -> std::string {
    const int rank = copse_comm_rank(comm);
    // Blocks that are read may overlap, and the input may lie between the blocks of the output.
    char buffer[24] = "0123456789abcdefghijklm", from[] = "xyz";
    const std::size_t sizes[] = {2, 2}, same[] = {1, 1}, around[] = {0, 8};
    if (copse_alltoallv(comm, from, sizes, same, buffer, sizes, around) != COPSE_OK) return copse_comm_message(comm);
    if (std::strcmp(buffer, "yz234567yzabcdefghijklm") != 0) return std::string("after alltoallv: ") + buffer;
    std::memcpy(buffer + 4, rank == 0 ? "AB" : "CD", 2);
    if (copse_allgatherv(comm, buffer + 4, buffer, sizes, around) != COPSE_OK) return copse_comm_message(comm);
    if (std::memcmp(buffer, "AB23", 4) != 0 || std::memcmp(buffer + 8, "CDab", 4) != 0)
      return std::string("after allgatherv: ") + buffer;
    // An output that a rank does not have cannot overlap anything.
    double numbers[4] = {1, 2, 3, 4}, *const sums = rank == 0 ? numbers + 1 : numbers;
    if (copse_exscan(comm, numbers, sums, 3, COPSE_DOUBLE, COPSE_SUM) != COPSE_OK) return copse_comm_message(comm);
    if (numbers[1] != 2) return "exscan wrote on rank 0";
    // No data needs no buffer.
    const std::size_t none[] = {0, 0};
    if (copse_alltoallv(comm, nullptr, none, nullptr, nullptr, none, nullptr) != COPSE_OK) return "alltoallv of nothing";
    if (copse_gatherv(comm, nullptr, 0, nullptr, rank == 1 ? none : nullptr, nullptr, 1) != COPSE_OK) return "gatherv";
    if (copse_gather(comm, from, 3, rank == 1 ? buffer : nullptr, 1) != COPSE_OK) return copse_comm_message(comm);
    if (rank == 1 && std::memcmp(buffer, "xyzxyz", 6) != 0) return std::string("after gather: ") + buffer;
    return {};
  };
  EXPECT_EQ(with_threads(2, body), "");
}

// Rank `ranks - 1` sends twice what the other side has room for.
std::string cut_off(copse_comm* comm, std::size_t bytes, bool start) {
  const int rank = copse_comm_rank(comm), ranks = copse_comm_ranks(comm), last = ranks - 1;
  const auto count = static_cast<std::size_t>(ranks);
  std::vector<std::size_t> sizes(count, bytes), places(count);
  for (std::size_t i = 0; i < count; ++i) places[i] = 3 * bytes * i;
  std::vector<char> in(2 * bytes, static_cast<char>('a' + rank)), all(3 * bytes * count, '.');
  copse_request* request = nullptr;
  const auto ended = [&](copse_status status) { return start && status == COPSE_OK ? copse_wait(&request) : status; };
  const std::size_t mine = rank == last ? 2 * bytes : bytes;
  const std::string to_root = "rank " + std::to_string(last) + " gives " + std::to_string(2 * bytes) +
                              " bytes to rank 0, which has room for " + std::to_string(bytes);
  const std::string from_root = "rank 0 gives " + std::to_string(2 * bytes) + " bytes to rank " + std::to_string(last) +
                                ", which has room for " + std::to_string(bytes);
  const auto judge = [&](copse_status status, const std::string& words) {
    if (rank == 0) return refused(status, COPSE_ERROR_TRUNCATED, {words.c_str()}, comm);
    return status == COPSE_OK ? std::string() : copse_comm_message(comm);
  };
  std::string wrong =
      judge(ended(start ? copse_start_gatherv(comm, in.data(), mine, all.data(), sizes.data(), places.data(), 0, &request)
                        : copse_gatherv(comm, in.data(), mine, all.data(), sizes.data(), places.data(), 0)),
            to_root);
  for (std::size_t i = 0; rank == 0 && i < all.size(); ++i) {
    const std::size_t block = i / (3 * bytes);
    const char expected = i % (3 * bytes) < bytes ? static_cast<char>('a' + block) : '.';
    if (all[i] != expected) return "byte " + std::to_string(i) + " after gatherv is " + all[i] + "; " + wrong;
  }
  std::vector<char> room(3 * bytes, '-');
  sizes[count - 1] = 2 * bytes;
  std::fill(all.begin(), all.end(), 'R');
  // In a scatterv, either the root or the rank with too little room is told, whichever notices it.
  const copse_status scattered =
      ended(start ? copse_start_scatterv(comm, all.data(), sizes.data(), places.data(), room.data(), bytes, 0, &request)
                  : copse_scatterv(comm, all.data(), sizes.data(), places.data(), room.data(), bytes, 0));
  int told = scattered != COPSE_OK;
  if (told != 0 && rank != 0 && rank != last) wrong += copse_comm_message(comm);
  if (told != 0) wrong += refused(scattered, COPSE_ERROR_TRUNCATED, {from_root.c_str()}, comm);
  if (copse_allreduce(comm, &told, &told, 1, COPSE_INT32, COPSE_SUM) != COPSE_OK || told != 1)
    wrong += "; told of a truncated scatterv: " + std::to_string(told);
  if (room != [&] {
        std::vector<char> want(3 * bytes, '-');
        std::fill_n(want.begin(), bytes, 'R');
        return want;
      }())
    wrong += "; scatterv wrote something else";
  if (copse_barrier(comm) != COPSE_OK) wrong += "; nothing works afterwards";
  return wrong;
}

// In an alltoallv, the last rank sends rank 0 twice what it has room for, and rank 0 sends the last rank half of that.
std::string cut_off_pair(copse_comm* comm, std::size_t bytes, bool start) {
  const int rank = copse_comm_rank(comm), ranks = copse_comm_ranks(comm), last = ranks - 1;
  const auto count = static_cast<std::size_t>(ranks);
  std::vector<std::size_t> gives(count, bytes), takes(count, bytes), places(count);
  for (std::size_t i = 0; i < count; ++i) places[i] = 3 * bytes * i;
  if (rank == last) gives[0] = 2 * bytes;
  if (rank == 0 && last > 0) gives[count - 1] = bytes / 2;
  const std::vector<char> in(3 * bytes * count, static_cast<char>('a' + rank));
  std::vector<char> out(in.size(), '.'), want(in.size(), '.');
  for (std::size_t i = 0; i < count; ++i)
    std::fill_n(want.begin() + static_cast<std::ptrdiff_t>(places[i]), i == 0 && rank == last && last > 0 ? bytes / 2 : bytes,
                static_cast<char>('a' + i));
  copse_request* request = nullptr;
  copse_status status =
      start ? copse_start_alltoallv(comm, in.data(), gives.data(), places.data(), out.data(), takes.data(), places.data(), &request)
            : copse_alltoallv(comm, in.data(), gives.data(), places.data(), out.data(), takes.data(), places.data());
  if (start && status == COPSE_OK) status = copse_wait(&request);
  const std::string words = "rank " + std::to_string(last) + " gives " + std::to_string(2 * bytes) +
                            " bytes to rank 0, which has room for " + std::to_string(bytes);
  if (rank == 0) {
    const std::string wrong = refused(status, COPSE_ERROR_TRUNCATED, {words.c_str()}, comm);
    if (!wrong.empty()) return wrong;
  } else if (status != COPSE_OK) {
    return copse_comm_message(comm);
  }
  if (out != want) return "alltoallv wrote something else";
  std::fill(out.begin(), out.end(), '.');  // the same call without the mistake
  gives.assign(count, bytes);
  if (copse_alltoallv(comm, in.data(), gives.data(), places.data(), out.data(), takes.data(), places.data()) != COPSE_OK)
    return copse_comm_message(comm);
  for (std::size_t i = 0; i < count; ++i)
    if (out[places[i] + bytes - 1] != static_cast<char>('a' + i) || out[places[i] + bytes] != '.') return "alltoallv afterwards";
  return {};
}

TEST(Truncation, IsToldAndHarmsNobody) {
  for (const std::size_t bytes : {8, 30, 100, 1000, 200000}) {
    for (const bool start : {false, true}) {
      const auto body = [=](copse_comm* comm) {
        const std::string wrong = cut_off(comm, bytes, start);
        return wrong.empty() ? cut_off_pair(comm, bytes, start) : wrong;
      };
      EXPECT_EQ(with_threads(3, body), "") << bytes << " bytes";
      EXPECT_EQ(with_processes(3, body), "") << bytes << " bytes";
      EXPECT_EQ(with_threads(1, body), "") << bytes << " bytes";
    }
  }
}

// Requests ------------------------------------------------------------------------------------------------------

TEST(Requests, SeveralCommunicatorsInAnyOrder) {
  const std::string name = fresh_name();
  const auto body = [&](copse_comm* one) -> std::string {
    const int rank = copse_comm_rank(one), ranks = copse_comm_ranks(one);
    copse_comm* two = nullptr;
    if (copse_comm_join(name.c_str(), rank, ranks, 30, &two) != COPSE_OK) return copse_comm_message(nullptr);
    std::int64_t mine = rank + 1, sum[4] = {}, total = ranks * (ranks + 1) / 2;
    for (int turn = 0; turn < 100; ++turn) {
      copse_request* requests[5] = {};
      for (std::size_t i = 0; i < 4; ++i)
        if (copse_start_allreduce(i % 2 == 0 ? one : two, &mine, &sum[i], 1, COPSE_INT64, COPSE_SUM, &requests[i]) != COPSE_OK)
          return "start";
      if (rank % 2 == 1) std::reverse(requests, requests + 5);  // every other rank waits in the opposite order
      if (copse_wait_all(5, requests) != COPSE_OK) return "wait";
      if (std::count(requests, requests + 5, nullptr) != 5) return "a request is left";
      if (std::count(sum, sum + 4, total) != 4) return "a wrong sum";
    }
    copse_comm_free(two);
    return {};
  };
  EXPECT_EQ(with_threads(3, body), "");
  EXPECT_EQ(with_processes(3, body), "");
}

TEST(Requests, OfNothing) {
  copse_request* none = nullptr;
  int done = 0;
  EXPECT_EQ(copse_wait(&none), COPSE_OK);
  EXPECT_EQ(copse_test(&none, &done), COPSE_OK);
  EXPECT_EQ(done, 1);
  EXPECT_EQ(copse_wait_all(0, nullptr), COPSE_OK);
  EXPECT_EQ(refused(copse_wait(nullptr), COPSE_ERROR_ARGUMENT, {"null"}), "");
  EXPECT_EQ(refused(copse_test(&none, nullptr), COPSE_ERROR_ARGUMENT, {"null"}), "");
  EXPECT_EQ(refused(copse_wait_all(1, nullptr), COPSE_ERROR_ARGUMENT, {"null"}), "");
  EXPECT_EQ(refused(copse_start_barrier(nullptr, &none), COPSE_ERROR_ARGUMENT, {"communicator is null"}), "");
}

TEST(Requests, OutliveTheirCommunicator) {
  copse_meeting* meeting = nullptr;
  copse_comm* comm = nullptr;
  ASSERT_EQ(copse_meeting_create(1, &meeting), COPSE_OK);
  ASSERT_EQ(copse_comm_create_threads(meeting, 0, &comm), COPSE_OK);
  copse_meeting_free(meeting);
  copse_request* request = nullptr;
  ASSERT_EQ(copse_start_barrier(comm, &request), COPSE_OK);
  copse_comm_free(comm);
  EXPECT_EQ(refused(copse_wait(&request), COPSE_ERROR_ARGUMENT, {"communicator has been freed"}), "");
  EXPECT_EQ(request, nullptr);
}

TEST(Requests, AllEndWhenARankDoes) {
  const std::string name = fresh_name();
  const std::vector<std::string> complaints = in_processes(3, [&](int rank) -> std::string {
    copse_comm* comm = nullptr;
    if (copse_comm_join(name.c_str(), rank, 3, 30, &comm) != COPSE_OK) return copse_comm_message(nullptr);
    if (copse_barrier(comm) != COPSE_OK) return "barrier";
    if (rank == 2) kill(getpid(), SIGKILL);
    std::int64_t mine = rank, sums[3] = {};
    copse_request* requests[3] = {};
    std::string wrong;
    for (std::size_t i = 0; i < 3; ++i)
      if (copse_start_allreduce(comm, &mine, &sums[i], 1, COPSE_INT64, COPSE_SUM, &requests[i]) != COPSE_OK) wrong = "start; ";
    for (auto& request : requests)
      wrong += refused(copse_wait(&request), COPSE_ERROR_LOST, {"allreduce", "rank 2 (process", "has ended"}, comm);
    wrong += refused(copse_barrier(comm), COPSE_ERROR_LOST, {"rank 2"}, comm);
    wrong += refused(copse_start_barrier(comm, &requests[0]), COPSE_ERROR_LOST, {"rank 2"}, comm);
    copse_comm_free(comm);
    return wrong;
  });
  EXPECT_EQ(complaints, (std::vector<std::string>{"", "", "signal 9"}));
}

// All permutations of five ranks, more than a communicator keeps programs for: all started at once, and then each by itself.
TEST(Permute, TakesAnyNumberOfPermutations) {
  const auto body = [](copse_comm* comm) -> std::string {
    constexpr int kRanks = 5;
    const int rank = copse_comm_rank(comm);
    std::vector<std::vector<int>> all{{0, 1, 2, 3, 4}};
    for (auto next = all.front(); std::next_permutation(next.begin(), next.end());) all.push_back(next);
    std::vector<copse_request*> requests(all.size());
    std::vector<std::array<std::size_t, 2>> in(all.size()), out(all.size());
    const auto wrong = [&](std::size_t i) -> std::string {
      const auto giver = static_cast<std::size_t>(std::find(all[i].begin(), all[i].end(), rank) - all[i].begin());
      const bool right = out[i] == std::array{i, giver};
      out[i] = {};
      return right ? "" : "permutation " + std::to_string(i) + " gave rank " + std::to_string(rank) + " something else";
    };
    int given[kRanks];
    for (std::size_t i = 0; i < all.size(); ++i) {
      in[i] = {i, static_cast<std::size_t>(rank)};
      std::copy(all[i].begin(), all[i].end(), given);
      if (copse_start_permute(comm, in[i].data(), out[i].data(), given, sizeof in[i], &requests[i]) != COPSE_OK)
        return copse_comm_message(comm);
      std::fill(given, given + kRanks, -1);  // it is free at once
    }
    if (copse_wait_all(requests.size(), requests.data()) != COPSE_OK) return copse_comm_message(comm);
    for (std::size_t i = 0; i < all.size(); ++i)
      if (std::string what = wrong(i); !what.empty()) return "started: " + what;
    for (int turn = 0; turn < 2; ++turn) {
      for (std::size_t i = 0; i < all.size(); ++i) {
        if (copse_permute(comm, in[i].data(), out[i].data(), all[i].data(), sizeof in[i]) != COPSE_OK)
          return copse_comm_message(comm);
        if (std::string what = wrong(i); !what.empty()) return what;
      }
    }
    return {};
  };
  EXPECT_EQ(with_processes(5, body), "");
}

// The round in which ranks whose sizes differ compare them is an alltoall, too: a forced algorithm must run it.
TEST(Requests, SizesThatDifferAreComparedByAForcedAlgorithm) {
  for (const char* algorithm : {"alltoall=letters", "alltoall=flat", "alltoall=pairwise"}) {
    setenv("COPSE_ALGORITHM", algorithm, 1);
    for (const bool start : {false, true})
      for (const std::size_t bytes : {std::size_t{8}, std::size_t{3000}, std::size_t{100000}})
        EXPECT_EQ(with_processes(3, [=](copse_comm* comm) { return cut_off_pair(comm, bytes, start); }), "")
            << algorithm << ", " << bytes << " bytes" << (start ? ", started" : "");
    unsetenv("COPSE_ALGORITHM");
  }
}

// An alltoall in place needs a copy of its input; rank 1 has no memory for one.
TEST(Requests, AllEndWhenARankHasNoMemory) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer's shadow is larger than any limit";
#endif
  for (const bool start : {false, true}) {
    const auto body = [=](copse_comm* comm) -> std::string {
      const int rank = copse_comm_rank(comm);
      constexpr std::size_t kBytes = std::size_t{1} << 30;
      void* buffer = mmap(nullptr, 2 * kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (buffer == MAP_FAILED) return "mmap";
      const rlimit limit{rank == 1 ? 3 * kBytes : RLIM_INFINITY, RLIM_INFINITY};
      if (setrlimit(RLIMIT_AS, &limit) != 0) return "setrlimit";
      // In this ragged call rank 1 alone has much data. The other rank must not need memory for it.
      const std::size_t much[] = {0, kBytes}, little[] = {0, 0}, *const sizes = rank == 1 ? much : little;
      copse_request* request = nullptr;
      copse_status status = start ? copse_start_alltoallv(comm, buffer, sizes, nullptr, buffer, sizes, nullptr, &request)
                                  : copse_alltoallv(comm, buffer, sizes, nullptr, buffer, sizes, nullptr);
      if (start && status == COPSE_OK) status = copse_wait(&request);
      std::string wrong;
      if (rank == 1) wrong = refused(status, COPSE_ERROR_MEMORY, {"alltoall", "no memory"}, comm);
      if (status == COPSE_OK) status = copse_barrier(comm);
      if (rank == 0) wrong = refused(status, COPSE_ERROR_LOST, {"rank 1 has given up"}, comm);
      return wrong;
    };
    EXPECT_EQ(with_processes(2, body), "") << (start ? "started" : "blocking");
  }
}

// COPSE_CHECK ---------------------------------------------------------------------------------------------------

struct Mismatch {
  const char* what;
  copse_status (*call)(copse_comm*, int rank);  // in it rank 1 of three makes a different call
  std::initializer_list<const char*> words;
  copse_status on_rank_1 = COPSE_ERROR_MISMATCH;
};
void PrintTo(const Mismatch& mismatch, std::ostream* out) { *out << mismatch.what; }

char in[256], out[256];
double numbers[32], sums[32];

const Mismatch kMismatches[] = {
    {"gatherv_with_another_size",
     [](copse_comm* comm, int rank) {
       const std::size_t sizes[] = {4, 4, 4};
       return copse_gatherv(comm, in, rank == 1 ? 6 : 4, out, sizes, nullptr, 2);
     },
     {"the blocks of gather", "rank 1 gives 6 bytes to rank 2, which expects 4"}},
    {"scatterv_with_another_size",
     [](copse_comm* comm, int rank) {
       const std::size_t sizes[] = {4, 4, 4};
       return copse_scatterv(comm, in, sizes, nullptr, out, rank == 1 ? 3 : 4, 0);
     },
     {"the blocks of scatter", "rank 0 gives 4 bytes to rank 1, which expects 3"}},
    {"allgatherv_with_another_table",
     [](copse_comm* comm, int rank) {
       const std::size_t sizes[] = {4, 4, rank == 1 ? std::size_t{5} : 4};
       return copse_allgatherv(comm, in, out, sizes, nullptr);
     },
     {"the blocks of allgather", "block 2 has 4 bytes for rank 0, but 5 for rank 1"}},
    {"alltoallv_with_another_table",
     [](copse_comm* comm, int rank) {
       const std::size_t gives[] = {1, 2, rank == 1 ? std::size_t{9} : 3};
       const auto each = static_cast<std::size_t>(rank + 1);
       const std::size_t expects[] = {each, each, each};
       return copse_alltoallv(comm, in, gives, nullptr, out, expects, nullptr);
     },
     {"the blocks of alltoall", "rank 1 gives 9 bytes to rank 2, which expects 3"}},
    {"reduce_scatter_with_other_counts",
     [](copse_comm* comm, int rank) {
       const std::size_t counts[] = {2, rank == 1 ? std::size_t{3} : 2, 2};
       return copse_reduce_scatter(comm, numbers, sums, counts, COPSE_DOUBLE, COPSE_SUM);
     },
     {"the blocks of reduce_scatter", "block 1 has 2 elements for rank 0, but 3 for rank 1"}},
    {"permute_by_another_permutation",
     [](copse_comm* comm, int rank) {
       const int permutation[] = {rank == 1 ? 2 : 1, rank == 1 ? 1 : 2, 0};
       return copse_permute(comm, in, out, permutation, 4);
     },
     {"permutation of permute of 4 bytes", "permutation[0] is 1 on rank 0, but 2 on rank 1"}},
    {"gather_and_gatherv",
     [](copse_comm* comm, int rank) {
       const std::size_t sizes[] = {4, 4, 4};
       return rank == 1 ? copse_gather(comm, in, 4, out, 1) : copse_gatherv(comm, in, 4, out, sizes, nullptr, 1);
     },
     {"rank 0 calls gather (blocks of different sizes)", "rank 1 calls gather of 4 bytes"}},
    {"scan_and_exscan",
     [](copse_comm* comm, int rank) {
       return rank == 1 ? copse_scan(comm, numbers, sums, 3, COPSE_DOUBLE, COPSE_SUM)
                        : copse_exscan(comm, numbers, sums, 3, COPSE_DOUBLE, COPSE_SUM);
     },
     {"rank 0 calls exscan of 3 elements", "rank 1 calls scan of 3 elements", "SUM of DOUBLE"}},
    {"started_with_another_count",
     [](copse_comm* comm, int rank) {
       copse_request* request = nullptr;
       return copse_start_alltoall(comm, in, out, rank == 1 ? 7 : 8, &request);
     },
     {"rank 0 calls alltoall of 8 bytes", "rank 1 calls alltoall of 7 bytes"}},
    {"refused_on_one_rank",
     [](copse_comm* comm, int rank) { return copse_alltoall(comm, rank == 1 ? nullptr : in, out, 8); },
     {"input is null"},
     COPSE_ERROR_ARGUMENT},
};

class Check : public testing::TestWithParam<Mismatch> {};

TEST_P(Check, ExplainsAMismatch) {
  const Mismatch& mismatch = GetParam();
  const Variable check("COPSE_CHECK", "1");
  const auto body = [&](copse_comm* comm) -> std::string {
    const int rank = copse_comm_rank(comm);
    const copse_status expected = rank == 1 ? mismatch.on_rank_1 : COPSE_ERROR_MISMATCH;
    std::string wrong = refused(mismatch.call(comm, rank), expected, mismatch.words, comm);
    if (expected != mismatch.on_rank_1) wrong += refused(COPSE_OK, COPSE_OK, {"rank 1 was refused", "alltoall of 8"}, comm);
    if (copse_barrier(comm) != COPSE_OK) wrong += "; nothing works afterwards";
    return wrong;
  };
  EXPECT_EQ(with_processes(3, body), "");
}

INSTANTIATE_TEST_SUITE_P(Calls, Check, testing::ValuesIn(kMismatches),
                         [](const auto& info) { return std::string(info.param.what); });

}  // namespace
}  // namespace copse::test
