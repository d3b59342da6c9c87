// Process ids and descriptors whose numbers have been reused. Nobody is mistaken for somebody else, and nothing that
// belongs to others is touched.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/sched.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstring>
#include <functional>
#include <new>
#include <thread>
#include <vector>

#include "../communicator/refusal.hpp"
#include "c_ranks.hpp"

namespace copse::test {
namespace {

constexpr unsigned kHung = 30;  // seconds; then SIGALRM ends a process, and the test fails

void sleep_ms(int time) { std::this_thread::sleep_for(std::chrono::milliseconds(time)); }

constexpr std::size_t kBytes = 1 << 20;
std::byte buffer[kBytes];  // it has one address in all processes forked from this one

// What the processes of a test share.
struct Common {
  std::atomic<int> stage{0};
  char complaint[1000] = "";
  void wait_for(int wanted) const {
    while (stage.load() < wanted) sleep_ms(1);
  }
};

// Rank 0 of two, after rank 1 has ended and another process has its id. Returns a complaint.
using Survivor = std::string (*)(copse_comm*);
// Rank 1. It ends by _exit or is killed.
using Victim = void (*)(copse_comm*, Common&);

void leave(copse_comm*, Common& common) {
  common.stage.store(1);
  common.wait_for(2);
  _exit(0);
}

// Forks a process with this id. Returns 0 if the system does not allow that.
pid_t fork_as(pid_t pid) {
  clone_args arguments{};
  arguments.exit_signal = SIGCHLD;
  arguments.set_tid = reinterpret_cast<std::uint64_t>(&pid);
  arguments.set_tid_size = 1;
  const long child = syscall(SYS_clone3, &arguments, sizeof arguments);
  return child < 0 ? 0 : static_cast<pid_t>(child == 0 ? -1 : child);
}

// Runs in a separate PID namespace, so that nobody else takes the id in the meantime. Returns "skip" if there is none.
std::string with_reused_id(Victim victim, Survivor survivor) {
  const std::string name = fresh_name();
  return in_processes(1, [&](int) -> std::string {
    if (unshare(CLONE_NEWPID | CLONE_NEWNS) != 0) return "skip";
    return in_processes(1, [&](int) -> std::string {
      if (mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 || mount("proc", "/proc", "proc", 0, nullptr) != 0)
        return "skip";
      void* memory = mmap(nullptr, sizeof(Common), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
      Common& common = *new (memory) Common;
      pid_t ranks[2];
      for (int rank = 0; rank < 2; ++rank) {
        ranks[rank] = fork();
        if (ranks[rank] != 0) continue;
        alarm(kHung);
        copse_comm* comm = nullptr;
        if (copse_comm_join(name.c_str(), rank, 2, 20, &comm) != COPSE_OK) _exit(1);
        if (rank == 1) victim(comm, common);
        common.wait_for(3);
        std::strncpy(common.complaint, survivor(comm).c_str(), sizeof common.complaint - 1);
        copse_comm_free(comm);
        _exit(0);
      }
      common.wait_for(1);
      sleep_ms(100);  // by now rank 1 waits in whatever it has begun
      common.stage.store(2);
      sleep_ms(20);
      kill(ranks[1], SIGKILL);
      waitpid(ranks[1], nullptr, 0);
      sleep_ms(50);  // by then any id has come round again
      const pid_t stranger = fork_as(ranks[1]);
      if (stranger == 0) {
        kill(ranks[0], SIGKILL);
        return "skip";
      }
      if (stranger < 0) {  // this is the stranger
        alarm(2 * kHung);
        common.stage.store(3);
        common.wait_for(4);
        for (const std::byte each : buffer)
          if (each != std::byte{0}) _exit(1);
        _exit(0);
      }
      int status = 0;
      waitpid(ranks[0], &status, 0);
      std::string wrong = common.complaint;
      if (WIFSIGNALED(status)) wrong += "rank 0 ended by signal " + std::to_string(WTERMSIG(status)) + "; ";
      common.stage.store(4);
      waitpid(stranger, &status, 0);
      if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) wrong += "the stranger's memory has been written; ";
      return wrong;
    })[0];
  })[0];
}

std::string told_at_barrier(copse_comm* comm) {
  return refused(copse_barrier(comm), COPSE_ERROR_LOST, {"rank 1 (process", "has ended"}, comm);
}

TEST(Reused, AWaitForTheRankThatHadTheId) {
  const std::string wrong = with_reused_id(leave, told_at_barrier);
  if (wrong == "skip") GTEST_SKIP() << "no PID namespace, or no say in ids";
  EXPECT_EQ(wrong, "");
}

TEST(Reused, WithoutPidfds) {
  const std::string wrong = with_reused_id(leave, [](copse_comm* comm) -> std::string {
    if (!refuse(SYS_pidfd_open)) return "skip";
    for (int fd = 3; fd < 1024; ++fd) close(fd);  // all descriptors that were open before
    return told_at_barrier(comm);
  });
  if (wrong == "skip") GTEST_SKIP() << "no PID namespace, no say in ids, or no seccomp";
  EXPECT_EQ(wrong, "");
}

// Rank 1 has said where its buffer lies before it ends. Rank 0 writes there as soon as it makes a call.
TEST(Reused, NothingIsCopiedToTheStranger) {
  const Variable reach("COPSE_REACH", "kernel"), put("COPSE_ALGORITHM", "bcast=knomial:put");
  const Victim victim = [](copse_comm* comm, Common& common) {
    common.stage.store(1);
    copse_broadcast(comm, buffer, kBytes, 0);
    _exit(0);
  };
  const std::string wrong = with_reused_id(victim, [](copse_comm* comm) {
    static std::vector<std::byte> given(kBytes, std::byte{7});
    return refused(copse_broadcast(comm, given.data(), kBytes, 0), COPSE_ERROR_LOST, {"rank 1 (process", "has ended"}, comm);
  });
  if (wrong == "skip") GTEST_SKIP() << "no PID namespace, or no say in ids";
  EXPECT_EQ(wrong, "");
}

// Descriptors ---------------------------------------------------------------------------------------------------

// Like a daemon, rank 0 closes every descriptor that it does not know, and opens its own under all the numbers. Some of
// these are readable, like the pidfd of a process that has ended.
struct Daemon {
  std::vector<int> own;
  std::vector<struct stat> files;
  explicit Daemon(bool readable) {
    for (int fd = 3; fd < 1024; ++fd) close(fd);
    const int event = eventfd(readable ? 1 : 0, 0);
    for (int fd = event; fd >= 0 && fd < 1000; fd = dup(event)) {
      own.push_back(fd);
      fstat(fd, &files.emplace_back());
    }
  }
  [[nodiscard]] std::string complaint() const {
    std::string wrong;
    for (std::size_t i = 0; i < own.size(); ++i) {
      struct stat now{};
      if (fstat(own[i], &now) != 0 || now.st_ino != files[i].st_ino)
        wrong += "descriptor " + std::to_string(own[i]) + " has gone; ";
    }
    return wrong;
  }
};

TEST(Closed, TheOthersAreStillKnownToLive) {
  for (const bool readable : {false, true}) {
    const std::string wrong = with_processes(2, [&](copse_comm* comm) -> std::string {
      alarm(kHung);
      if (copse_comm_rank(comm) == 1) {
        sleep_ms(300);  // rank 0 checks several times
        return copse_barrier(comm) == COPSE_OK && copse_barrier(comm) == COPSE_OK ? "" : copse_comm_message(comm);
      }
      const Daemon daemon(readable);
      if (copse_barrier(comm) != COPSE_OK || copse_barrier(comm) != COPSE_OK) return copse_comm_message(comm);
      return daemon.complaint();
    });
    EXPECT_EQ(wrong, "") << readable;
  }
}

TEST(Closed, TheOthersAreStillKnownToHaveEnded) {
  for (const bool readable : {false, true}) {
    const std::string name = fresh_name();
    const std::vector<std::string> complaints = in_processes(2, [&](int rank) -> std::string {
      alarm(kHung);
      copse_comm* comm = nullptr;
      if (copse_comm_join(name.c_str(), rank, 2, 20, &comm) != COPSE_OK) return copse_comm_message(nullptr);
      if (rank == 1) kill(getpid(), SIGKILL);
      const Daemon daemon(readable);
      std::string wrong = told_at_barrier(comm);
      copse_comm_free(comm);  // must not close the program's descriptors
      return wrong + daemon.complaint();
    });
    EXPECT_EQ(complaints, (std::vector<std::string>{"", "signal 9"})) << readable;
  }
}

// The program has used up its descriptors, so nothing more can be opened.
TEST(Closed, NoDescriptorsLeft) {
  const std::string name = fresh_name();
  const std::vector<std::string> complaints = in_processes(2, [&](int rank) -> std::string {
    alarm(kHung);
    copse_comm* comm = nullptr;
    if (copse_comm_join(name.c_str(), rank, 2, 20, &comm) != COPSE_OK) return copse_comm_message(nullptr);
    if (rank == 1) kill(getpid(), SIGKILL);
    const rlimit few{100, 100};
    setrlimit(RLIMIT_NOFILE, &few);
    while (dup(0) >= 0) continue;
    return told_at_barrier(comm);
  });
  EXPECT_EQ(complaints, (std::vector<std::string>{"", "signal 9"}));
}

int open_descriptors() {
  int count = 0;
  for (int fd = 0; fd < 2048; ++fd) count += fcntl(fd, F_GETFD) >= 0;
  return count;
}

// There is one descriptor for each other process, whatever the number of communicators and threads. After the free
// there is none. None has a number that programs use.
TEST(Closed, DescriptorsAreFew) {
  const std::string name = fresh_name();
  EXPECT_EQ(all_well(in_processes(4,
                                  [&](int rank) -> std::string {
                                    alarm(kHung);
                                    const int before = open_descriptors(), next = dup(0);
                                    close(next);
                                    copse_comm* comms[3];
                                    for (int i = 0; i < 3; ++i)
                                      if (copse_comm_join((name + std::to_string(i)).c_str(), rank, 4, 20, &comms[i]) != COPSE_OK)
                                        return copse_comm_message(nullptr);
                                    const int during = open_descriptors(), then = dup(0);
                                    close(then);
                                    for (copse_comm* comm : comms) copse_barrier(comm);
                                    for (copse_comm* comm : comms) copse_comm_free(comm);
                                    std::string wrong;
                                    if (during > before + 3) wrong += std::to_string(during - before) + " descriptors; ";
                                    if (then != next) wrong += "a small number is used; ";
                                    if (open_descriptors() != before) wrong += "some are left; ";
                                    return wrong;
                                  })),
            "");
}

}  // namespace
}  // namespace copse::test
