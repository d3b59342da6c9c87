// The C interface with processes as ranks: they join by name, by a callback, and with threads inside.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <barrier>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <new>
#include <numeric>
#include <thread>

#include "../communicator/refusal.hpp"
#include "../engine/ranks.hpp"
#include "c_ranks.hpp"

namespace copse::test {
namespace {

using Steady = std::chrono::steady_clock;

// Makes a few calls of each kind. Returns what went wrong.
std::string exercise(copse_comm* comm, std::size_t count) {
  const int rank = copse_comm_rank(comm), ranks = copse_comm_ranks(comm);
  for (int turn = 0; turn < 3; ++turn) {
    const int root = turn % ranks;
    std::vector<double> in(count, rank + 1), out(count, -1);
    const double sum = ranks * (ranks + 1) / 2.0;
    if (copse_barrier(comm) != COPSE_OK) return copse_comm_message(comm);
    if (copse_allreduce(comm, in.data(), out.data(), count, COPSE_DOUBLE, COPSE_SUM) != COPSE_OK) return copse_comm_message(comm);
    if (out != std::vector<double>(count, sum)) return "a wrong allreduce";
    if (copse_reduce(comm, in.data(), out.data(), count, COPSE_DOUBLE, COPSE_MAX, root) != COPSE_OK)
      return copse_comm_message(comm);
    if (out != std::vector<double>(count, rank == root ? ranks : sum)) return "a wrong reduce";
    if (copse_broadcast(comm, in.data(), count * sizeof(double), root) != COPSE_OK) return copse_comm_message(comm);
    if (in != std::vector<double>(count, root + 1)) return "a wrong broadcast";
  }
  return {};
}

std::string join_and_exercise(const std::string& name, int rank, int ranks, std::size_t count) {
  copse_comm* comm = nullptr;
  if (copse_comm_join(name.c_str(), rank, ranks, 30, &comm) != COPSE_OK) return copse_comm_message(nullptr);
  const std::string wrong = exercise(comm, count);
  copse_comm_free(comm);
  return wrong;
}

TEST(Join, ProcessesMeetByName) {
  for (const int ranks : {1, 2, 4}) {
    const std::string name = fresh_name();
    EXPECT_EQ(all_well(in_processes(ranks, [&](int rank) { return join_and_exercise(name, rank, ranks, 20000); })), "");
  }
}

TEST(Join, ThreadsWithinProcesses) {
  const std::string name = fresh_name();
  EXPECT_EQ(all_well(in_processes(2,
                                  [&](int process) {
                                    std::vector<std::string> wrong(3);
                                    std::vector<std::thread> threads;
                                    for (int i = 0; i < 3; ++i)
                                      threads.emplace_back([&, i] {
                                        wrong[static_cast<std::size_t>(i)] = join_and_exercise(name, 3 * process + i, 6, 5000);
                                      });
                                    for (std::thread& thread : threads) thread.join();
                                    return all_well(wrong);
                                  })),
            "");
}

TEST(Join, ACallbackBringsThemTogether) {
  struct Board {
    std::barrier<> arrive, leave;
    std::byte pinned[3][65536];
  };
  void* memory = mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  // The ranks are threads, as std::barrier sleeps on futexes that are private to a process.
  auto* board = new (memory) Board{std::barrier<>(3), std::barrier<>(3), {}};
  struct Context {
    Board* board;
    int rank;
  };
  const copse_allgather_callback gather = [](void* context, const void* mine, void* all, std::size_t bytes) {
    auto* me = static_cast<Context*>(context);
    std::memcpy(me->board->pinned[me->rank], mine, bytes);
    me->board->arrive.arrive_and_wait();
    for (std::size_t rank = 0; rank < 3; ++rank)
      std::memcpy(static_cast<std::byte*>(all) + rank * bytes, me->board->pinned[rank], bytes);
    me->board->leave.arrive_and_wait();
    return 0;
  };
  std::vector<std::string> wrong(3);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 3; ++rank)
    threads.emplace_back([&, rank] {
      Context context{board, rank};
      copse_comm* comm = nullptr;
      std::string& mine = wrong[static_cast<std::size_t>(rank)];
      if (copse_comm_create(rank, 3, gather, &context, &comm) != COPSE_OK) {
        mine = copse_comm_message(nullptr);
        return;
      }
      mine = exercise(comm, 100);
      copse_comm_free(comm);
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(all_well(wrong), "");
  std::destroy_at(board);
  munmap(memory, sizeof(Board));

  copse_comm* comm = nullptr;
  const copse_allgather_callback fails = [](void*, const void*, void*, std::size_t) { return 1; };
  EXPECT_EQ(refused(copse_comm_create(0, 1, fails, nullptr, &comm), COPSE_ERROR_UNREACHABLE, {"gathered"}), "");
}

TEST(Join, AMistakeOfOneRankEndsTheCallbackOfAll) {
  struct Board {
    std::atomic<int> arrived{0};
    std::byte places[2][65536];
  };
  struct Context {
    Board* board;
    int rank, round = 0;
  };
  void* const memory = mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  const copse_allgather_callback gather = [](void* context, const void* mine, void* all, std::size_t bytes) {
    auto* const me = static_cast<Context*>(context);
    const auto wait_for = [me](int arrivals) {
      ++me->board->arrived;
      while (me->board->arrived < arrivals) std::this_thread::yield();
    };
    std::memcpy(me->board->places[me->rank], mine, bytes);
    wait_for(4 * me->round + 2);
    for (std::size_t rank = 0; rank < 2; ++rank)
      std::memcpy(static_cast<std::byte*>(all) + rank * bytes, me->board->places[rank], bytes);
    wait_for(4 * ++me->round);
    return 0;
  };
  auto* const board = new (memory) Board;
  EXPECT_EQ(all_well(in_processes(2,
                                  [&](int rank) {
                                    alarm(30);
                                    Context context{board, rank};
                                    copse_comm* comm = nullptr;
                                    if (rank == 1) setenv("COPSE_WAIT", "spinn", 1);
                                    const copse_status status = copse_comm_create(rank, 2, gather, &context, &comm);
                                    if (rank == 1) return refused(status, COPSE_ERROR_VARIABLE, {"COPSE_WAIT"});
                                    return refused(status, COPSE_ERROR_UNREACHABLE, {"rank 1", "mistake in its COPSE_ variables"});
                                  })),
            "");
  munmap(memory, sizeof(Board));
}

TEST(Join, NobodyComes) {
  copse_comm* comm = nullptr;
  const auto begin = Steady::now();
  EXPECT_EQ(refused(copse_comm_join(fresh_name().c_str(), 0, 3, 0.2, &comm), COPSE_ERROR_UNREACHABLE,
                    {"rank 0 of 3", "only 1 of 3 ranks came in time"}),
            "");
  EXPECT_EQ(refused(copse_comm_join(fresh_name().c_str(), 1, 3, 0.2, &comm), COPSE_ERROR_UNREACHABLE,
                    {"rank 1 of 3", "rank 0 did not come in time"}),
            "");
  EXPECT_LT(seconds_since(begin), kSoon);
  EXPECT_EQ(comm, nullptr);
}

bool is_bound(const std::string& name) {
  std::ifstream sockets("/proc/net/unix");
  for (std::string line; std::getline(sockets, line);)
    if (line.ends_with("@copse-" + name)) return true;
  return false;
}

TEST(Join, TheNameIsTaken) {
  if (!std::ifstream("/proc/net/unix")) GTEST_SKIP() << "no /proc/net";
  const std::string name = fresh_name();
  std::thread first([&] {
    copse_comm* comm = nullptr;
    EXPECT_EQ(copse_comm_join(name.c_str(), 0, 2, 60, &comm), COPSE_OK);
    copse_comm_free(comm);
  });
  const auto begin = Steady::now();
  while (!is_bound(name) && seconds_since(begin) < kSoon) std::this_thread::yield();
  copse_comm* comm = nullptr;
  EXPECT_EQ(refused(copse_comm_join(name.c_str(), 0, 2, 1, &comm), COPSE_ERROR_UNREACHABLE, {"in use", "choose another"}), "");
  EXPECT_EQ(copse_comm_join(name.c_str(), 1, 2, 60, &comm), COPSE_OK);
  copse_comm_free(comm);
  first.join();
}

TEST(Join, OtherVariablesOnOneRank) {
  const std::string name = fresh_name();
  EXPECT_EQ(all_well(in_processes(3,
                                  [&](int rank) {
                                    if (rank == 2) setenv("COPSE_FRAGMENT", "4K", 1);
                                    copse_comm* comm = nullptr;
                                    return refused(copse_comm_join(name.c_str(), rank, 3, 10, &comm), COPSE_ERROR_UNREACHABLE,
                                                   {"rank 2", "other COPSE_ variables"});
                                  })),
            "");
}

// Under COPSE_CHECK, rank 1 of three makes a different call.
TEST(Check, NamesBothRanksAndWhatTheyCall) {
  struct Mismatch {
    copse_status (*right)(copse_comm*), (*wrong)(copse_comm*);
    std::initializer_list<const char*> words;
  };
  static double in[100], out[100];
  const Mismatch mismatches[] = {{[](copse_comm* c) { return copse_barrier(c); },
                                  [](copse_comm* c) { return copse_broadcast(c, in, 8, 0); },
                                  {"rank 0 calls barrier", "rank 1 calls broadcast of 8 bytes, root 0"}},
                                 {[](copse_comm* c) { return copse_broadcast(c, in, 8, 0); },
                                  [](copse_comm* c) { return copse_broadcast(c, in, 8, 1); },
                                  {"rank 0 calls broadcast of 8 bytes, root 0", "rank 1 calls broadcast of 8 bytes, root 1"}},
                                 {[](copse_comm* c) { return copse_allreduce(c, in, out, 3, COPSE_DOUBLE, COPSE_SUM); },
                                  [](copse_comm* c) { return copse_allreduce(c, in, out, 4, COPSE_DOUBLE, COPSE_SUM); },
                                  {"rank 0 calls allreduce of 3 elements", "rank 1 calls allreduce of 4 elements"}},
                                 {[](copse_comm* c) { return copse_allreduce(c, in, out, 3, COPSE_DOUBLE, COPSE_SUM); },
                                  [](copse_comm* c) { return copse_allreduce(c, in, out, 3, COPSE_DOUBLE, COPSE_MAX); },
                                  {"rank 0", "SUM of DOUBLE", "rank 1", "MAX of DOUBLE"}},
                                 {[](copse_comm* c) { return copse_reduce(c, in, out, 3, COPSE_INT64, COPSE_SUM, 2); },
                                  [](copse_comm* c) { return copse_reduce(c, in, out, 3, COPSE_DOUBLE, COPSE_SUM, 2); },
                                  {"rank 0", "SUM of INT64, root 2", "rank 1", "SUM of DOUBLE, root 2"}}};
  for (const Mismatch& mismatch : mismatches) {
    const std::string name = fresh_name();
    EXPECT_EQ(all_well(in_processes(3,
                                    [&](int rank) -> std::string {
                                      setenv("COPSE_CHECK", "1", 1);
                                      copse_comm* comm = nullptr;
                                      if (copse_comm_join(name.c_str(), rank, 3, 10, &comm) != COPSE_OK)
                                        return copse_comm_message(nullptr);
                                      std::string wrong = exercise(comm, 10);  // equal calls pass
                                      if (!wrong.empty()) return wrong;
                                      const auto begin = Steady::now();
                                      wrong = refused((rank == 1 ? mismatch.wrong : mismatch.right)(comm), COPSE_ERROR_MISMATCH,
                                                      mismatch.words, comm);
                                      if (seconds_since(begin) > kSoon) wrong += "; and that took too long";
                                      if (wrong.empty()) wrong = exercise(comm, 10);  // nothing was done
                                      copse_comm_free(comm);
                                      return wrong;
                                    })),
              "");
  }
}

// The rank computes for longer than the others waited when they joined. That is no error.
TEST(Check, ASlowRankIsWaitedFor) {
  const std::string name = fresh_name();
  EXPECT_EQ(all_well(in_processes(3,
                                  [&](int rank) -> std::string {
                                    setenv("COPSE_CHECK", "1", 1);
                                    alarm(60);
                                    copse_comm* comm = nullptr;
                                    if (copse_comm_join(name.c_str(), rank, 3, 2, &comm) != COPSE_OK)
                                      return copse_comm_message(nullptr);
                                    if (rank == 1) std::this_thread::sleep_for(std::chrono::seconds(3));
                                    std::string wrong = exercise(comm, 10);
                                    copse_comm_free(comm);
                                    return wrong;
                                  })),
            "");
}

// Rank 1 reaches the compared call only when a call of the other communicator is over, and that call needs rank 0.
TEST(Check, StartedCallsGoOnMeanwhile) {
  const std::string name = fresh_name();
  EXPECT_EQ(all_well(in_processes(2,
                                  [&](int rank) -> std::string {
                                    setenv("COPSE_CHECK", "1", 1);
                                    alarm(60);
                                    copse_comm *first = nullptr, *second = nullptr;
                                    if (copse_comm_join((name + "a").c_str(), rank, 2, 5, &first) != COPSE_OK ||
                                        copse_comm_join((name + "b").c_str(), rank, 2, 5, &second) != COPSE_OK)
                                      return copse_comm_message(nullptr);
                                    std::vector<double> in(1 << 20, 1), out(1 << 20);
                                    copse_request* request = nullptr;
                                    if (copse_start_allreduce(first, in.data(), out.data(), in.size(), COPSE_DOUBLE, COPSE_SUM,
                                                              &request) != COPSE_OK)
                                      return copse_comm_message(first);
                                    if (rank == 1 && copse_wait(&request) != COPSE_OK) return copse_comm_message(first);
                                    if (copse_barrier(second) != COPSE_OK) return copse_comm_message(second);
                                    if (rank == 0 && copse_wait(&request) != COPSE_OK) return copse_comm_message(first);
                                    copse_comm_free(first);
                                    copse_comm_free(second);
                                    return out == std::vector<double>(in.size(), 2) ? "" : "a wrong allreduce";
                                  })),
            "");
}

TEST(Check, ARankThatEndsIsNotWaitedFor) {
  const std::string name = fresh_name();
  const std::vector<std::string> complaints = in_processes(3, [&](int rank) -> std::string {
    setenv("COPSE_CHECK", "1", 1);
    copse_comm* comm = nullptr;
    if (copse_comm_join(name.c_str(), rank, 3, 30, &comm) != COPSE_OK) return copse_comm_message(nullptr);
    if (rank == 1) kill(getpid(), SIGKILL);
    const auto begin = Steady::now();
    const std::string wrong = refused(copse_barrier(comm), COPSE_ERROR_MISMATCH, {"one has ended"}, comm);
    return seconds_since(begin) > kSoon ? "it took too long; " + wrong : wrong;
  });
  EXPECT_EQ(complaints, (std::vector<std::string>{"", "signal 9", ""}));
}

// Faults --------------------------------------------------------------------------------------------------------

struct Death {
  const char* what;
  int ranks, victim;
  std::size_t count;
  const char *variable, *value;
};
void PrintTo(const Death& death, std::ostream* out) { *out << death.what; }

class Killed : public testing::TestWithParam<Death> {};

// A thread of the victim kills it in the middle of a collective.
TEST_P(Killed, TheOthersAreToldSoon) {
  const Death death = GetParam();
  const std::string name = fresh_name();
  void* memory = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  auto* died = new (memory) std::atomic<std::int64_t>(0);
  const std::vector<std::string> complaints = in_processes(death.ranks, [&](int rank) -> std::string {
    if (death.variable != nullptr) setenv(death.variable, death.value, 1);
    copse_comm* comm = nullptr;
    if (copse_comm_join(name.c_str(), rank, death.ranks, 30, &comm) != COPSE_OK) return copse_comm_message(nullptr);
    if (rank == death.victim)
      std::thread([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        died->store(Steady::now().time_since_epoch().count());
        kill(getpid(), SIGKILL);
      }).detach();
    std::vector<double> in(death.count), out(death.count);
    copse_status status = COPSE_OK;
    for (int call = 0; status == COPSE_OK; ++call) {
      status = copse_allreduce(comm, in.data(), out.data(), in.size(), COPSE_DOUBLE, COPSE_SUM);
      if (status == COPSE_OK) status = copse_broadcast(comm, in.data(), in.size() * sizeof(double), call % death.ranks);
    }
    const Steady::time_point death_time{Steady::duration(died->load())};
    const double took = seconds_since(death_time);
    const std::string victim = "rank " + std::to_string(death.victim) + " (process";
    std::string wrong = refused(status, COPSE_ERROR_LOST, {victim.c_str(), "has ended"}, comm);
    if (took > kSoon) wrong += "; and that took " + std::to_string(took) + " s";
    copse_comm_free(comm);
    return wrong;
  });
  munmap(memory, 4096);
  for (int rank = 0; rank < death.ranks; ++rank)
    EXPECT_EQ(complaints[static_cast<std::size_t>(rank)], rank == death.victim ? "signal 9" : "") << "rank " << rank;
}

INSTANTIATE_TEST_SUITE_P(
    Faults, Killed,
    testing::Values(Death{"two_small", 2, 1, 1, nullptr, nullptr}, Death{"two_large", 2, 0, 100000, nullptr, nullptr},
                    Death{"two_staged", 2, 1, 100000, "COPSE_REACH", "staged"}, Death{"six_small", 6, 3, 1, nullptr, nullptr},
                    Death{"six_large", 6, 3, 100000, nullptr, nullptr}, Death{"six_staged", 6, 2, 30000, "COPSE_REACH", "staged"},
                    // Rank 3 waits for rank 2, which waits for rank 1.
                    Death{"chain", 4, 1, 1000, "COPSE_ALGORITHM", "bcast=chain;allreduce=recursive_doubling"},
                    Death{"by_kernel", 4, 2, 100000, "COPSE_ALGORITHM", "bcast=knomial:put;allreduce=tiled:get"}),
    [](const auto& info) { return std::string(info.param.what); });

TEST(Faults, TheKernelRefusesToMakeMemory) {
  const std::string name = fresh_name();
  const std::vector<std::string> complaints = in_processes(3, [&](int rank) -> std::string {
    if (rank == 0 && !refuse(SYS_memfd_create)) return "skip";
    copse_comm* comm = nullptr;
    const copse_status status = copse_comm_join(name.c_str(), rank, 3, 1, &comm);
    if (rank == 0) return refused(status, COPSE_ERROR_UNREACHABLE, {"memfd_create", "not permitted"});
    return refused(status, COPSE_ERROR_UNREACHABLE, {"rank 0 did not come in time"});
  });
  if (complaints[0] == "skip") GTEST_SKIP() << "no seccomp here";
  EXPECT_EQ(all_well(complaints), "");

  EXPECT_EQ(all_well(in_processes(1,
                                  [&](int) -> std::string {
                                    if (!refuse(SYS_memfd_create)) return "no seccomp";
                                    copse_meeting* meeting = nullptr;
                                    copse_comm* comm = nullptr;
                                    copse_meeting_create(1, &meeting);
                                    return refused(copse_comm_create_threads(meeting, 0, &comm), COPSE_ERROR_UNREACHABLE,
                                                   {"rank 0 could not make common memory", "not permitted", "sandbox"});
                                  })),
            "");
}

TEST(Faults, NoAffinityAndNoPidfd) {
  const std::string name = fresh_name();
  const std::vector<std::string> complaints = in_processes(3, [&](int rank) -> std::string {
    if (!refuse(SYS_sched_setaffinity) || !refuse(SYS_sched_getaffinity) || !refuse(SYS_pidfd_open)) return "skip";
    return join_and_exercise(name, rank, 3, 1000);
  });
  if (complaints[0] == "skip") GTEST_SKIP() << "no seccomp here";
  EXPECT_EQ(all_well(complaints), "");
}

// The handler of a timer's signals does nothing, and calls are not restarted. So the signals interrupt every system
// call.
TEST(Faults, SignalsInterruptEverything) {
  const std::string name = fresh_name();
  EXPECT_EQ(all_well(in_processes(3,
                                  [&](int rank) -> std::string {
                                    static std::atomic<int> came{0};
                                    struct sigaction action{};
                                    action.sa_handler = [](int) { came.fetch_add(1); };
                                    sigaction(SIGALRM, &action, nullptr);
                                    const itimerval every{{0, 100}, {0, 100}};
                                    setitimer(ITIMER_REAL, &every, nullptr);
                                    for (int turn = 0; turn < 5; ++turn)
                                      if (std::string wrong = join_and_exercise(name + std::to_string(turn), rank, 3, 50000);
                                          !wrong.empty())
                                        return wrong;
                                    return came > 20 ? "" : "hardly a signal came";
                                  })),
            "");
}

// One rank reaches a limit: the size of files (as large as the common memory), descriptors, or addresses. No rank gets
// a communicator.
TEST(Faults, LimitsOfOneRank) {
  struct Limit {
    int rank;
    __rlimit_resource which;
    rlim_t more;  // beyond what it has
    const char* says;
    double timeout;
  };
  for (const Limit& limit : {Limit{0, RLIMIT_FSIZE, 1 << 20, "File too large", 30}, Limit{1, RLIMIT_NOFILE, 0, "in time", 1},
                             Limit{2, RLIMIT_AS, 1 << 20, "could not open or map the common memory", 30}}) {
    const std::string name = fresh_name();
    EXPECT_EQ(all_well(in_processes(3,
                                    [&](int rank) {
                                      if (rank == limit.rank) {
                                        rlim_t has = 0;
                                        if (limit.which == RLIMIT_AS) {
                                          std::ifstream("/proc/self/statm") >> has;
                                          has *= static_cast<rlim_t>(getpagesize());
                                        }
                                        const rlimit most{has + limit.more, has + limit.more};
                                        setrlimit(limit.which, &most);
                                      }
                                      copse_comm* comm = nullptr;
                                      return refused(copse_comm_join(name.c_str(), rank, 3, limit.timeout, &comm),
                                                     COPSE_ERROR_UNREACHABLE, {limit.says});
                                    })),
              "")
        << limit.says;
  }
}

// Rank 1 has called and stays in the queue of rank 0, which cannot take it in. This must not last for ever either.
TEST(Faults, RankZeroTakesNobodyIn) {
  struct Cause {
    const char* what;
    bool (*provoke)();
    std::initializer_list<const char*> words;
  };
  const Cause causes[] = {
      {"room for the memory and the listener alone",
       [] {
         const int memory = dup(0), listener = dup(0);
         const rlimit most{static_cast<rlim_t>(listener) + 1, static_cast<rlim_t>(listener) + 1};
         return close(memory) == 0 && close(listener) == 0 && setrlimit(RLIMIT_NOFILE, &most) == 0;
       },
       {"accept4", "Too many open files", "ulimit -n"}},
      {"a sandbox", [] { return refuse(SYS_accept4); }, {"accept4", "not permitted", "sandbox"}},
      {"callers that are gone", [] { return refuse(SYS_accept4, ECONNABORTED); }, {"only 1 of 2 ranks came in time"}}};
  for (const Cause& cause : causes) {
    const std::string name = fresh_name();
    const std::vector<std::string> complaints = in_processes(2, [&](int rank) -> std::string {
      if (rank == 0 && !cause.provoke()) return "skip";
      alarm(60);
      copse_comm* comm = nullptr;
      const auto begin = Steady::now();
      const copse_status status = copse_comm_join(name.c_str(), rank, 2, 1, &comm);
      std::string wrong = rank == 0 ? refused(status, COPSE_ERROR_UNREACHABLE, cause.words)
                                    : refused(status, COPSE_ERROR_UNREACHABLE, {"rank 0 did not come in time"});
      if (seconds_since(begin) > kSoon) wrong += "; and that took too long";
      return wrong;
    });
    if (complaints[0] == "skip") GTEST_SKIP() << "no seccomp here";
    EXPECT_EQ(all_well(complaints), "") << cause.what;
  }
}

// In a separate file system with 1 MiB of /dev/shm and of /tmp, everything works and nothing is left behind, not even
// by a rank that was killed.
TEST(Faults, SmallShmAndNothingLeftBehind) {
  const std::string name = fresh_name();
  const std::vector<std::string> complaints = in_processes(1, [&](int) -> std::string {
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount("none", "/dev/shm", "tmpfs", 0, "size=1m") != 0 || mount("none", "/tmp", "tmpfs", 0, "size=1m") != 0)
      return std::string("skip: no mount namespace of one's own: ") + std::strerror(errno);
    std::string wrong = all_well(in_processes(3, [&](int rank) { return join_and_exercise(name, rank, 3, 1 << 19); }));
    in_processes(2, [&](int rank) -> std::string {
      copse_comm* comm = nullptr;
      if (copse_comm_join(name.c_str(), rank, 2, 30, &comm) != COPSE_OK) return {};
      if (rank == 1) kill(getpid(), SIGKILL);
      copse_barrier(comm);
      kill(getpid(), SIGKILL);
      return {};
    });
    for (const char* folder : {"/dev/shm", "/tmp"})
      for (const auto& entry : std::filesystem::directory_iterator(folder)) wrong += entry.path().string() + " is left; ";
    return wrong;
  });
  if (complaints[0].starts_with("skip")) GTEST_SKIP() << complaints[0];
  EXPECT_EQ(complaints[0], "");
}

}  // namespace
}  // namespace copse::test
