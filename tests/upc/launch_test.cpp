// How programs start and end.
#include <gtest/gtest.h>

#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <string>

#include "../communicator/refusal.hpp"
#include "upc_threads.hpp"

namespace copse::test {
namespace {

class Launch : public testing::TestWithParam<Kind> {};
INSTANTIATE_TEST_SUITE_P(, Launch, testing::Values(Kind::threads, Kind::processes, Kind::mixed),
                         [](const auto& info) { return name_of(info.param); });

int run(int threads, int processes, copse_upc_program program, int argc = 0, char** argv = nullptr) {
  const Variable number("COPSE_UPC_THREADS", std::to_string(threads)), divided("COPSE_UPC_PROCESSES", std::to_string(processes));
  return copse_upc_run(argc, argv, program);
}
int run(Kind kind, int threads, copse_upc_program program) {
  return run(threads, kind == Kind::threads ? 1 : kind == Kind::processes ? threads : (threads + 1) / 2, program);
}

TEST_P(Launch, TellsEveryThreadWhoItIs) {
  EXPECT_EQ(run_upc(GetParam(), 5,
                    []() -> std::string {
                      const upc_shared seen = upc_all_alloc(static_cast<std::size_t>(THREADS), sizeof(pid_t));
                      UPC_AT(pid_t, 1, seen, MYTHREAD) = getpid();
                      upc_barrier();
                      int processes = 1;
                      for (int thread = 1; thread < THREADS; ++thread)
                        processes += UPC_AT(pid_t, 1, seen, thread) != UPC_AT(pid_t, 1, seen, thread - 1);
                      const int expected = GetParam() == Kind::threads ? 1 : GetParam() == Kind::processes ? 5 : 3;
                      return THREADS != 5 || processes != expected ? std::to_string(processes) + " processes" : "";
                    }),
            0);
}

// With the memory that a program has by itself.
TEST_P(Launch, NeedsNoVariableForMemory) {
  EXPECT_EQ(run(GetParam(), 4,
                [](int, char**) {
                  const upc_shared a = upc_all_alloc(4, std::size_t{1} << 20);
                  UPC_AT(char, 1 << 20, a, MYTHREAD << 20) = static_cast<char>(MYTHREAD);
                  upc_barrier();
                  return UPC_AT(char, 1 << 20, a, after(MYTHREAD) << 20) == after(MYTHREAD) ? 0 : 1;
                }),
            0);
}

TEST_P(Launch, ReturnsTheFirstResultThatIsNot0) {
  EXPECT_EQ(run(GetParam(), 4, [](int, char**) { return MYTHREAD >= 2 ? 10 + MYTHREAD : 0; }), 12);
  EXPECT_EQ(THREADS, 1);
  EXPECT_EQ(MYTHREAD, 0);
}

TEST_P(Launch, RunsSeveralProgramsInTurn) {
  for (int i = 0; i < 3; ++i) EXPECT_EQ(run(GetParam(), 3, [](int, char**) { return 0; }), 0);
}

TEST(LaunchAlone, PassesArgumentsOn) {
  char word[] = "word", *words[] = {word, nullptr};
  EXPECT_EQ(run(2, 2, [](int argc, char** argv) { return argc == 1 && std::string(argv[0]) == "word" ? 7 : 0; }, 1, words), 7);
}

using LaunchDeathTest = Launch;
INSTANTIATE_TEST_SUITE_P(, LaunchDeathTest, testing::Values(Kind::threads, Kind::processes, Kind::mixed),
                         [](const auto& info) { return name_of(info.param); });

TEST_P(LaunchDeathTest, OneThreadMayEndTheProgram) {
  const auto program = [](int, char**) {
    if (MYTHREAD == 1) upc_global_exit(9);
    upc_barrier();
    return 0;
  };
  EXPECT_EXIT(exit(run(GetParam(), 4, program)), testing::ExitedWithCode(9), "^$");
  const auto leaves = [](int, char**) {
    if (MYTHREAD == 1) exit(0);  // without a word to the others
    upc_barrier();
    return 5;
  };
  EXPECT_EXIT(exit(run(GetParam(), 4, leaves)), testing::ExitedWithCode(0), "^$");
}

TEST_P(LaunchDeathTest, ACrashEndsAllThreads) {
  const auto program = [](int, char**) {
    if (MYTHREAD == 1) raise(SIGKILL);
    upc_barrier();
    return 0;
  };
  if (GetParam() == Kind::threads) EXPECT_EXIT(exit(run(GetParam(), 4, program)), testing::KilledBySignal(SIGKILL), "");
  else
    EXPECT_EXIT(exit(run(GetParam(), 4, program)), testing::ExitedWithCode(128 + SIGKILL),
                "was ended by signal 9 .Killed.; the others are ended as well");
}

// A program that ignores SIGCHLD, or whose parent did, hears nothing of how its children end.
TEST_P(LaunchDeathTest, ACrashIsNoticedWhateverHappensToSignalsOfChildren) {
  if (GetParam() == Kind::threads) return;
  const auto program = [](int, char**) {
    if (MYTHREAD == 1) raise(SIGKILL);
    upc_barrier();
    return 0;
  };
  const auto ignoring = [&] {
    signal(SIGCHLD, SIG_IGN);
    exit(run(GetParam(), 4, program));
  };
  EXPECT_EXIT(ignoring(), testing::ExitedWithCode(128 + SIGKILL), "was ended by signal 9");
}

// What the other threads have printed is not lost (7.2.1).
TEST_P(LaunchDeathTest, TheStreamsOfAllThreadsAreWrittenOut) {
  const auto program = [](int, char**) {
    std::fprintf(stdout, "thread %d;", MYTHREAD);
    upc_barrier();
    if (MYTHREAD == 1) upc_global_exit(3);
    while (true) pause();
    return 0;
  };
  const auto counted = [&] {
    int ends[2];
    if (pipe(ends) != 0) _exit(100);
    if (fork() == 0) {
      dup2(ends[1], STDOUT_FILENO);
      close(ends[0]);
      close(ends[1]);
      exit(run(GetParam(), 4, program));
    }
    close(ends[1]);
    std::string printed;
    char part[256];
    for (ssize_t got; (got = read(ends[0], part, sizeof part)) > 0;) printed.append(part, static_cast<std::size_t>(got));
    _exit(static_cast<int>(std::count(printed.begin(), printed.end(), ';')));
  };
  EXPECT_EXIT(counted(), testing::ExitedWithCode(4), "");
}

TEST(LaunchAlone, LeavesTheCallerWhereItWas) {
  cpu_set_t before, after;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  const Variable bind("COPSE_BIND", "core");
  EXPECT_EQ(run(2, 1, [](int, char**) { return 0; }), 0);
  ASSERT_EQ(sched_getaffinity(0, sizeof after, &after), 0);
  EXPECT_TRUE(CPU_EQUAL(&before, &after));
}

TEST(LaunchAloneDeathTest, TooFewThreadsAreExplained) {
  if (!can_refuse()) GTEST_SKIP() << "needs seccomp, and no sanitizer";
  const auto starved = [] {
    if (!refuse(SYS_clone, EAGAIN)) exit(1);
    // glibc makes threads by clone3, or by clone where there is none.
    if (!refuse(SYS_clone3, EAGAIN)) exit(1);
    exit(run(4, 1, [](int, char**) { return 0; }));
  };
  EXPECT_EXIT(starved(), testing::ExitedWithCode(1), "copse: UPC thread 1 cannot be made: .*; set COPSE_UPC_THREADS to less");
}

// A thread that waits for input holds the lock of its stream.
TEST(LaunchAloneDeathTest, AThreadEndsTheProgramThoughAnotherReads) {
  const auto program = [](int, char**) {
    upc_barrier();
    if (MYTHREAD == 0) return std::getchar();
    usleep(100000);
    upc_global_exit(6);
    return 0;
  };
  const auto reading = [&] {
    int ends[2];  // nobody writes
    if (pipe(ends) != 0 || dup2(ends[0], STDIN_FILENO) < 0) exit(100);
    alarm(20);
    exit(run(2, 1, program));
  };
  EXPECT_EXIT(reading(), testing::ExitedWithCode(6), "^$");
}

// Whatever is wrong, no forked process goes on behind copse_upc_run.
TEST(LaunchAlone, RefusesFilesThatCannotBeRead) {
  const Variable wrong("COPSE_TOPOLOGY", "/no/such.xml");
  for (const int processes : {1, 2}) {
    testing::internal::CaptureStderr();
    EXPECT_EQ(run(2, processes, [](int, char**) { return 0; }), 1);
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_NE(said.find("/no/such.xml"), std::string::npos) << said;
    EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
  }
}

TEST(LaunchAlone, RefusesWhatCannotBe) {
  const auto nothing = [](int, char**) { return 0; };
  testing::internal::CaptureStderr();
  EXPECT_EQ(run(2, 3, nothing), 1);
  EXPECT_NE(
      testing::internal::GetCapturedStderr().find("COPSE_UPC_PROCESSES is 3; required: at most COPSE_UPC_THREADS, which is 2"),
      std::string::npos);
  for (const auto& [name, value] : {std::pair{"COPSE_UPC_THREADS", "0"},
                                    {"COPSE_UPC_THREADS", "many"},
                                    {"COPSE_UPC_HEAP", "1K"},
                                    {"COPSE_UPC_PROCESSES", "-1"}}) {
    const Variable wrong(name, value);
    testing::internal::CaptureStderr();
    EXPECT_EQ(copse_upc_run(0, nullptr, nothing), 1);
    EXPECT_NE(testing::internal::GetCapturedStderr().find(std::string(name) + "=" + value + ": expected a"), std::string::npos);
  }
}

}  // namespace
}  // namespace copse::test
