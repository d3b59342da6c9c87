// Ranks meet by name among strangers. Whoever else owns the name or calls under it, the ranks meet, or learn in time
// why they do not.
#include <fcntl.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <list>
#include <new>
#include <thread>

#include "../communicator/refusal.hpp"
#include "c_ranks.hpp"
#include "communicator/desk.hpp"
#include "communicator/handshake.hpp"
#include "communicator/shared_bootstrap.hpp"
#include "engine/reach/process.hpp"
#include "engine/reach/shared_memory.hpp"

namespace copse::test {
namespace {

using Steady = std::chrono::steady_clock;

constexpr unsigned kHung = 30;        // seconds; then SIGALRM ends a rank, and the test fails
constexpr uid_t kAnotherUser = 65534;  // nobody

void sleep_ms(int time) { std::this_thread::sleep_for(std::chrono::milliseconds(time)); }

// Returns what is wrong if the ranks that have met do not add up.
std::string add_up(copse_comm* comm) {
  const int ranks = copse_comm_ranks(comm), mine = copse_comm_rank(comm) + 1;
  int sum = 0;
  if (copse_allreduce(comm, &mine, &sum, 1, COPSE_INT32, COPSE_SUM) != COPSE_OK) return copse_comm_message(comm);
  return sum == ranks * (ranks + 1) / 2 ? "" : "a wrong sum";
}

std::string join_and_add(const std::string& name, int rank, int ranks, double timeout = 20) {
  alarm(kHung);
  copse_comm* comm = nullptr;
  if (copse_comm_join(name.c_str(), rank, ranks, timeout, &comm) != COPSE_OK) return copse_comm_message(nullptr);
  std::string wrong = add_up(comm);
  copse_comm_free(comm);
  return wrong;
}

// Returns what is wrong if this rank is not told these words by shortly after its timeout.
std::string join_and_be_refused(const std::string& name, int rank, int ranks, double timeout,
                                std::initializer_list<const char*> words) {
  alarm(kHung);
  copse_comm* comm = nullptr;
  const auto begin = Steady::now();
  std::string wrong = refused(copse_comm_join(name.c_str(), rank, ranks, timeout, &comm), COPSE_ERROR_UNREACHABLE, words);
  if (seconds_since(begin) > timeout + kSoon) wrong += "; and that took " + std::to_string(seconds_since(begin)) + " s";
  return wrong;
}

// Sockets of strangers.
class Stranger {
 public:
  explicit Stranger(const std::string& name) : socket_(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    address_.sun_family = AF_UNIX;
    const std::string path = "copse-" + name;
    std::memcpy(address_.sun_path + 1, path.data(), path.size());
    length_ = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + path.size());
  }
  explicit Stranger(int connection) : socket_(connection) {}
  Stranger(const Stranger&) = delete;
  Stranger& operator=(const Stranger&) = delete;
  ~Stranger() { close(socket_); }
  bool own_the_name(int backlog) {
    return bind(socket_, reinterpret_cast<sockaddr*>(&address_), length_) == 0 && listen(socket_, backlog) == 0;
  }
  bool call() {
    for (int i = 0; i < 2000; ++i) {
      if (connect(socket_, reinterpret_cast<sockaddr*>(&address_), length_) == 0) return true;
      sleep_ms(5);
    }
    return false;
  }
  [[nodiscard]] int take_in() const { return accept(socket_, nullptr, nullptr); }
  // Sends the words, and a descriptor with them if it is not negative.
  void say(const std::string& words, int fd = -1) const {
    iovec content{const_cast<char*>(words.data()), words.size()};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof fd)> control{};
    msghdr message{};
    message.msg_iov = &content;
    message.msg_iovlen = 1;
    if (fd >= 0) {
      message.msg_control = control.data();
      message.msg_controllen = control.size();
      *CMSG_FIRSTHDR(&message) = {CMSG_LEN(sizeof fd), SOL_SOCKET, SCM_RIGHTS};
      std::memcpy(CMSG_DATA(CMSG_FIRSTHDR(&message)), &fd, sizeof fd);
    }
    static_cast<void>(sendmsg(socket_, &message, MSG_NOSIGNAL));
  }
  template <class Message>
  [[nodiscard]] Message hear() const {
    Message message;
    static_cast<void>(recv(socket_, &message, sizeof message, MSG_WAITALL));
    return message;
  }
  void wait_for_the_end() const {
    std::array<char, 64> rest{};
    while (recv(socket_, rest.data(), rest.size(), 0) > 0);
  }

 private:
  sockaddr_un address_{};
  socklen_t length_ = 0;
  int socket_;
};

// A process that runs `body` and then stays until it is no longer needed.
class Bystander {
 public:
  template <class Body>
  explicit Bystander(Body&& body) : Bystander() {
    pid_ = fork();
    if (pid_ == 0) {
      alarm(2 * kHung);
      ready_->store(body() ? 1 : 2);
      while (true) pause();
    }
    for (int i = 0; i < 4000 && ready_->load() == 0; ++i) sleep_ms(5);
  }
  Bystander(const Bystander&) = delete;
  Bystander& operator=(const Bystander&) = delete;
  ~Bystander() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    munmap(ready_, sizeof *ready_);
  }
  [[nodiscard]] bool ready() const { return ready_->load() == 1; }

 private:
  Bystander()
      : ready_(new (mmap(nullptr, sizeof *ready_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) std::atomic<int>(0)) {
  }
  std::atomic<int>* ready_;
  pid_t pid_ = -1;
};

// Gives a caller what rank 0 once gave: its process, the number of a descriptor, and the number of ranks.
void hand_out(int caller) {
  const int memory = memfd_create("evil", 0);
  static_cast<void>(ftruncate(memory, 1 << 16));
  const std::int32_t invitation[3] = {getpid(), memory, 2};
  static_cast<void>(send(caller, invitation, sizeof invitation, MSG_NOSIGNAL));
}

// Says of itself what the other side expects to hear of its process.
struct Liar {
  communicator::Hello hello;  // what it tells rank 0
  std::int32_t pid = 0;

  [[nodiscard]] std::string call(const std::string& name) {
    Stranger stranger(name);
    hello.pid = pid;
    if (!stranger.call()) return "no call";
    stranger.say({reinterpret_cast<const char*>(&hello), sizeof hello});
    stranger.wait_for_the_end();
    return "";
  }

  // Takes in the next rank that calls, and gives it the descriptor.
  void welcome(const Stranger& owner, int gift) const {
    const Stranger caller(owner.take_in());
    communicator::Answer answer = communicator::make_answer({});
    answer.host = caller.hear<communicator::Hello>().host;
    answer.pid = pid;
    caller.say({reinterpret_cast<const char*>(&answer), sizeof answer}, gift);
    caller.wait_for_the_end();
  }

  // Owns the name, and gives the rank that calls its own memory.
  [[nodiscard]] std::string invite(const std::string& name) const {
    Stranger stranger(name);
    if (!stranger.own_the_name(5)) return "could not own the name";
    welcome(stranger, engine::make_shared_memory("evil", communicator::board_bytes(2)).get());
    return "";
  }
};

// Owns the name from now on, and gives every rank that calls the descriptor. Returns false if the name has an owner.
bool keep_inviting(const std::string& name, engine::Descriptor gift) {
  static Stranger stranger(name);
  if (!stranger.own_the_name(5)) return false;
  std::thread([fd = gift.release()] {
    Liar liar;
    liar.pid = getpid();
    while (true) liar.welcome(stranger, fd);
  }).detach();
  return true;
}

communicator::Invitation sound_invitation() {
  communicator::Invitation invitation;
  invitation.rank = 2;
  invitation.ranks = 3;
  invitation.helpers = 1;
  return invitation;
}

int nameless_file() {
  char path[] = "/tmp/copse-meeting-XXXXXX";
  const int file = mkstemp(path);
  unlink(path);
  return file;
}

bool become_another_user() { return setgid(kAnotherUser) == 0 && setuid(kAnotherUser) == 0; }

TEST(Strangers, AnotherUserOwnsTheName) {
  if (getuid() != 0) GTEST_SKIP() << "needs root, to be another user";
  const std::string name = fresh_name();
  const Bystander squatter([&] {
    static Stranger stranger(name);
    if (!become_another_user() || !stranger.own_the_name(5)) return false;
    std::thread([] {
      while (true) hand_out(stranger.take_in());
    }).detach();
    return true;
  });
  ASSERT_TRUE(squatter.ready());
  EXPECT_EQ(all_well(in_processes(
                2,
                [&](int rank) {
                  if (rank == 0)
                    return join_and_be_refused(name, 0, 2, 1, {"in use by process", "user id 65534", "choose another"});
                  return join_and_be_refused(name, 1, 2, 1, {"rank 0 did not come in time", "owned by process", "user id 65534"});
                })),
            "");
}

// The other user answers as rank 0 would, and gives good memory.
TEST(Strangers, AnotherUserTakesRanksIn) {
  if (getuid() != 0) GTEST_SKIP() << "needs root, to be another user";
  const std::string name = fresh_name();
  const Bystander squatter([&] {
    return become_another_user() && keep_inviting(name, engine::make_shared_memory("evil", communicator::board_bytes(2)));
  });
  ASSERT_TRUE(squatter.ready());
  const std::vector<std::string> complaints = in_processes(1, [&](int) {
    return join_and_be_refused(name, 1, 2, 2, {"owned by process", "user id 65534", "this process is of user id 0"});
  });
  EXPECT_EQ(complaints[0], "");
}

// The owner of the name is this user's, and answers as rank 0 would.
TEST(Strangers, TheOwnerOfTheNameGivesNoMemory) {
  const std::size_t bytes = communicator::board_bytes(2);
  const auto sized = [bytes](int fd) {
    static_cast<void>(ftruncate(fd, static_cast<off_t>(bytes)));
    return engine::Descriptor(fd);
  };
  const struct {
    const char* what;
    std::function<engine::Descriptor()> make;
    const char* word;
  } gifts[] = {
      {"nothing", [] { return engine::Descriptor(); }, "which gave no memory"},
      {"memory whose size may change", [&] { return sized(memfd_create("evil", MFD_CLOEXEC)); }, "something else than memory"},
      {"memory of another size", [&] { return engine::make_shared_memory("evil", bytes + 4096); }, "something else than memory"},
      {"a file", [&] { return sized(nameless_file()); }, "something else than memory"}};
  for (const auto& gift : gifts) {
    const std::string name = fresh_name();
    const Bystander owner([&] { return keep_inviting(name, gift.make()); });
    ASSERT_TRUE(owner.ready());
    const std::vector<std::string> complaints =
        in_processes(1, [&](int) { return join_and_be_refused(name, 1, 2, 2, {"owned by process", gift.word}); });
    EXPECT_EQ(complaints[0], "") << gift.what;
  }
}

// When the name is free again, the rank that has kept calling meets rank 0.
TEST(Strangers, TheOwnerOfTheNameLeaves) {
  const std::string name = fresh_name();
  EXPECT_EQ(all_well(in_processes(2,
                                  [&](int rank) -> std::string {
                                    if (rank == 1) return join_and_add(name, 1, 2);
                                    {
                                      Stranger stranger(name);
                                      if (!stranger.own_the_name(5)) return "could not own the name";
                                      const int caller = stranger.take_in();
                                      hand_out(caller);
                                      sleep_ms(300);
                                      close(caller);
                                    }
                                    return join_and_add(name, 0, 2);
                                  })),
            "");
}

TEST(Strangers, TheOwnerOfTheNameSaysFourBytesAndStops) {
  const std::string name = fresh_name();
  const Bystander squatter([&] {
    static Stranger stranger(name);
    if (!stranger.own_the_name(5)) return false;
    std::thread([] {
      while (true) static_cast<void>(send(stranger.take_in(), "\1\0\0\0", 4, MSG_NOSIGNAL));
    }).detach();
    return true;
  });
  ASSERT_TRUE(squatter.ready());
  const std::vector<std::string> complaints = in_processes(
      1, [&](int) { return join_and_be_refused(name, 1, 2, 0.5, {"rank 0 did not come in time", "owned by process"}); });
  EXPECT_EQ(complaints[0], "");
}

TEST(Strangers, TheOwnerOfTheNameTakesNobodyIn) {
  const std::string name = fresh_name();
  const Bystander squatter([&] {
    static Stranger stranger(name);
    static Stranger calls(name);
    return stranger.own_the_name(0) && calls.call();
  });
  ASSERT_TRUE(squatter.ready());
  const std::vector<std::string> complaints =
      in_processes(1, [&](int) { return join_and_be_refused(name, 1, 2, 0.5, {"rank 0 did not come in time", "so many call"}); });
  EXPECT_EQ(complaints[0], "");
}

// All of them call before rank 1 does, and most keep their connection.
TEST(Strangers, TheyCallAndUseUpNoInvitation) {
  for (const std::string& words : {std::string(), std::string("\1\0\0\0", 4), std::string("copse"), std::string(5000, 'x'),
                                   std::string("copse\x1bmt\1\0\0\0\xff\xff\xff\xff", 16)}) {
    const std::string name = fresh_name();
    EXPECT_EQ(all_well(in_processes(2,
                                    [&](int rank) -> std::string {
                                      if (rank == 0) return join_and_add(name, 0, 2);
                                      Stranger stays(name);
                                      {
                                        Stranger leaves(name);
                                        if (!leaves.call()) return "no call";
                                        leaves.say(words);
                                      }
                                      if (!stays.call()) return "no call";
                                      stays.say(words);
                                      return join_and_add(name, 1, 2);
                                    })),
              "")
        << words.size() << " bytes";
  }
}

// The other user says what rank 1 would say.
TEST(Strangers, AnotherUserCallsAndUsesUpNoInvitation) {
  if (getuid() != 0) GTEST_SKIP() << "needs root, to be another user";
  const std::string name = fresh_name();
  EXPECT_EQ(all_well(in_processes(2,
                                  [&](int rank) -> std::string {
                                    if (rank == 0) return join_and_add(name, 0, 2);
                                    const Bystander stranger([&] {
                                      if (!become_another_user()) return false;
                                      Liar liar{communicator::make_hello(1, 2), getpid()};
                                      return liar.call(name).empty();
                                    });
                                    if (!stranger.ready()) return "no call";
                                    return join_and_add(name, 1, 2);
                                  })),
            "");
}

TEST(Strangers, AnotherUserInvitesAHelper) {
  if (getuid() != 0) GTEST_SKIP() << "needs root, to be another user";
  communicator::DeskName name{};
  const engine::Descriptor desk = communicator::open_desk(name);
  ASSERT_TRUE(desk);
  const communicator::Invitation invitation = sound_invitation();
  const Bystander stranger([&] { return become_another_user() && communicator::invite(name, invitation); });
  ASSERT_TRUE(stranger.ready());
  EXPECT_FALSE(communicator::next_invitation(desk.get()));
  ASSERT_TRUE(communicator::invite(name, invitation));
  EXPECT_TRUE(communicator::next_invitation(desk.get()));
}

// Hundreds of silent connections neither use up rank 0's descriptors nor keep a rank out.
TEST(Strangers, ACrowdIsOnTheLine) {
  const std::string name = fresh_name();
  const std::vector<std::string> complaints = in_processes(3, [&](int who) -> std::string {
    if (who == 0) {
      const rlimit few{80, 80};
      setrlimit(RLIMIT_NOFILE, &few);
      return join_and_add(name, 0, 2);
    }
    if (who == 1) {
      sleep_ms(300);
      return join_and_add(name, 1, 2);
    }
    std::list<Stranger> crowd;
    for (int i = 0; i < 300; ++i)
      if (!crowd.emplace_back(name).call()) return {};  // the meeting is over
    return {};
  });
  EXPECT_EQ(all_well(complaints), "");
}

// Ranks ---------------------------------------------------------------------------------------------------------

TEST(Ranks, OneComesTwice) {
  const std::string name = fresh_name();
  const Word refusal;
  const std::vector<std::string> complaints = in_processes(4, [&](int who) -> std::string {
    alarm(kHung);
    if (who == 3) refusal.await();
    if (who == 0 || who == 3) return join_and_add(name, who == 0 ? 0 : 2, 3);
    copse_comm* comm = nullptr;  // of the two that come as rank 1, the later one is refused
    const copse_status status = copse_comm_join(name.c_str(), 1, 3, 20, &comm);
    if (status != COPSE_OK) {
      refusal.give();
      return refused(status, COPSE_ERROR_UNREACHABLE, {"rank 1 has come already", "process"});
    }
    std::string wrong = add_up(comm);
    copse_comm_free(comm);
    return wrong;
  });
  EXPECT_EQ(all_well(complaints), "");
}

TEST(Ranks, AWrongNumberOfRanksUsesUpNoInvitation) {
  const std::string name = fresh_name();
  const Word refusal;
  EXPECT_EQ(all_well(in_processes(3,
                                  [&](int who) -> std::string {
                                    if (who == 0) return join_and_add(name, 0, 2);
                                    if (who == 2) {
                                      refusal.await();
                                      return join_and_add(name, 1, 2);
                                    }
                                    std::string wrong = join_and_be_refused(name, 1, 3, 10, {"rank 0 expects 2 ranks"});
                                    refusal.give();
                                    return wrong;
                                  })),
            "");
}

TEST(Ranks, OneDiesBeforeAllHaveComeAndIsStartedAgain) {
  const std::string name = fresh_name();
  const Word death;
  EXPECT_EQ(all_well(in_processes(3,
                                  [&](int rank) -> std::string {
                                    if (rank == 1) {
                                      const pid_t first = fork();
                                      if (first == 0) _exit(join_and_add(name, 1, 3).empty() ? 0 : 1);
                                      sleep_ms(300);  // so that it has come, unless the machine is very busy
                                      kill(first, SIGKILL);
                                      waitpid(first, nullptr, 0);
                                      death.give();
                                    }
                                    if (rank == 2) death.await();
                                    return join_and_add(name, rank, 3);
                                  })),
            "");
}

constexpr double kForEver = std::numeric_limits<double>::infinity();

// The ranks that wait for it have no deadline.
TEST(Ranks, OneDiesAsSoonAsItIsLetIn) {
  if (!can_refuse()) GTEST_SKIP() << "needs seccomp, and no sanitizer";
  const std::string name = fresh_name();
  const std::vector<std::string> said = in_processes(3, [&](int rank) -> std::string {
    if (rank == 2 && !die_at(SYS_mmap)) return "seccomp is not allowed";
    return rank == 2 ? join_and_add(name, 2, 3) : join_and_be_refused(name, rank, 3, kForEver, {"not all ranks mapped"});
  });
  EXPECT_EQ(said[0] + said[1], "");
  EXPECT_EQ(said[2], "signal " + std::to_string(SIGSYS));
}

TEST(Ranks, OneCannotMapTheMemory) {
  if (!can_refuse()) GTEST_SKIP() << "needs seccomp, and no sanitizer";
  const std::string name = fresh_name();
  EXPECT_EQ(all_well(in_processes(3,
                                  [&](int rank) -> std::string {
                                    if (rank == 2 && !refuse(SYS_mmap, ENOMEM)) return "seccomp is not allowed";
                                    return join_and_be_refused(name, rank, 3, kForEver,
                                                               {rank == 2 ? "cannot map" : "not all ranks mapped"});
                                  })),
            "");
}

TEST(Ranks, OfAnotherJob) {
  for (const char* variable : {"COPSE_JOB", "SLURM_JOB_ID", "PMIX_NAMESPACE"}) {
    const std::string name = fresh_name(), mine = std::string(variable) + "=morning", other = std::string(variable) + "=evening";
    const Word refusal;
    EXPECT_EQ(all_well(in_processes(3,
                                    [&](int who) -> std::string {
                                      setenv(variable, who == 1 ? "evening" : "morning", 1);
                                      if (who == 2) refusal.await();
                                      if (who != 1) return join_and_add(name, who / 2, 2);
                                      std::string wrong = join_and_be_refused(
                                          name, 1, 2, 10, {"another job", mine.c_str(), other.c_str(), "COPSE_JOB"});
                                      refusal.give();
                                      return wrong;
                                    })),
              "");
  }
}

// Moves this process's children into a PID namespace of their own. Returns false if that is not allowed.
bool enter_pid_namespace() { return unshare(CLONE_NEWPID | CLONE_NEWNS) == 0; }
bool mount_own_proc() {
  return mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 && mount("proc", "/proc", "proc", 0, nullptr) == 0;
}

// The ranks are like two containers with one network. Earlier versions let the second rank open the first one's
// descriptor by number among its own processes.
TEST(Ranks, OfAnotherPidNamespace) {
  const std::string name = fresh_name();
  const int file = nameless_file();
  ASSERT_GE(file, 0);
  const std::string content(1 << 16, 'u');
  ASSERT_EQ(write(file, content.data(), content.size()), static_cast<ssize_t>(content.size()));
  const std::vector<std::string> complaints = in_processes(2, [&](int rank) -> std::string {
    if (!enter_pid_namespace()) return "skip";
    return in_processes(1, [&](int) -> std::string {  // process 1 of its own namespace
      if (!mount_own_proc()) return "skip";
      // Every number that the other rank's memory might have is a file of the user here.
      for (int fd = 3; rank == 1 && fd < 40; ++fd)
        if (fcntl(fd, F_GETFD) < 0) dup2(file, fd);
      if (rank == 0) return join_and_be_refused(name, 0, 2, 2, {"only 1 of 2 ranks came in time", "PID namespace"});
      return join_and_be_refused(name, 1, 2, 2, {"rank 0 sits in another PID namespace"});
    })[0];
  });
  std::string now(content.size(), 0);
  EXPECT_EQ(pread(file, now.data(), now.size(), 0), static_cast<ssize_t>(now.size()));
  EXPECT_TRUE(now == content) << "the user's file has been written";
  close(file);
  if (complaints[0] == "skip") GTEST_SKIP() << "no PID namespace of one's own";
  EXPECT_EQ(all_well(complaints), "");
}

// What the kernel says about a process is long if the process has many groups (proc(5)), and 1024 bytes end anywhere in it.
TEST(Ranks, WithManyGroupsAreToldApart) {
  const std::string complaint = in_processes(1, [](int) -> std::string {
    std::vector<gid_t> groups;
    for (; groups.size() <= 200; groups.push_back(static_cast<gid_t>(1000 + groups.size()))) {
      if (setgroups(groups.size(), groups.data()) != 0) return "skip";
      if (!engine::shares_pid_namespace(getpid()).value_or(false))
        return "not of its own namespace, with " + std::to_string(groups.size());
    }
    if (!enter_pid_namespace()) return "skip";
    const pid_t within = fork();
    if (within < 0) return "skip";
    if (within == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      while (true) pause();
    }
    const bool shared = engine::shares_pid_namespace(within).value_or(true);
    kill(within, SIGKILL);
    waitpid(within, nullptr, 0);
    return shared ? "a process of a namespace within is taken for one of this namespace" : "";
  })[0];
  if (complaint == "skip") GTEST_SKIP() << "no say in groups, or no PID namespace of one's own";
  EXPECT_EQ(complaint, "");
}

// The process lives until the desk has looked at it.
TEST(Ranks, OfAnotherPidNamespaceInviteNoHelper) {
  communicator::DeskName name{};
  const engine::Descriptor desk = communicator::open_desk(name);
  ASSERT_TRUE(desk);
  const communicator::Invitation invitation = sound_invitation();
  for (const bool apart : {true, false}) {
    const Word sent;
    const Bystander sender([&] {
      if (apart && !enter_pid_namespace()) return false;
      if (fork() == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        alarm(2 * kHung);
        if (communicator::invite(name, invitation)) sent.give();
        while (true) pause();
      }
      sent.await();
      return true;
    });
    if (apart && !sender.ready()) GTEST_SKIP() << "no PID namespace of one's own";
    ASSERT_TRUE(sender.ready());
    EXPECT_EQ(communicator::next_invitation(desk.get()).has_value(), !apart);
  }
}

// The kernel shows a process of a namespace beside as 0, and one of a namespace within by a number of this namespace, which the
// stranger finds out (here in a /proc that it has left mounted).
TEST(Strangers, OfAnotherPidNamespaceSayWhatAnHonestProcessWould) {
  for (const bool within : {false, true})
    for (const bool owns : {false, true}) {
      const std::string name = fresh_name();
      const auto honest = [&] {
        if (owns) return join_and_be_refused(name, 1, 2, 10, {"rank 0 sits in another PID namespace"});
        return join_and_be_refused(name, 0, 2, 5, {"only 1 of 2 ranks came in time", "PID namespace"});
      };
      int host[2] = {};
      ASSERT_EQ(pipe(host), 0);
      const std::vector<std::string> complaints = in_processes(2, [&](int who) -> std::string {
        if (who == 0 && within) {
          const communicator::Hello hello = communicator::make_hello(1, 2);
          return write(host[1], &hello, sizeof hello) == sizeof hello ? honest() : "no pipe";
        }
        if (!enter_pid_namespace()) return "skip";
        return in_processes(1, [&](int) -> std::string {
          alarm(kHung);
          Liar liar;
          if (who == 1) {
            if (within) liar.pid = std::stoi(std::filesystem::read_symlink("/proc/self").string());
            if (read(host[0], &liar.hello, sizeof liar.hello) != sizeof liar.hello) return "no pipe";
            return owns ? liar.invite(name) : liar.call(name);
          }
          if (!mount_own_proc()) return "skip";
          const communicator::Hello hello = communicator::make_hello(1, 2);
          return write(host[1], &hello, sizeof hello) == sizeof hello ? honest() : "no pipe";
        })[0];
      });
      close(host[0]);
      close(host[1]);
      if (complaints[0] == "skip" || complaints[1] == "skip") GTEST_SKIP() << "no PID namespace of one's own";
      EXPECT_EQ(all_well(complaints), "") << (within ? "within, " : "beside, ") << (owns ? "owns the name" : "calls");
    }
}

// Timeouts ------------------------------------------------------------------------------------------------------

TEST(Timeouts, ThatAreNone) {
  copse_comm* comm = nullptr;
  for (const double timeout : {std::nan(""), -1.0, -std::numeric_limits<double>::infinity()})
    for (const int rank : {0, 1})
      EXPECT_EQ(
          refused(copse_comm_join(fresh_name().c_str(), rank, 2, timeout, &comm), COPSE_ERROR_ARGUMENT, {"timeout", "0 or more"}),
          "")
          << timeout;
  for (const int rank : {0, 1})
    EXPECT_EQ(refused(copse_comm_join(fresh_name().c_str(), rank, 2, 0, &comm), COPSE_ERROR_UNREACHABLE, {"in time"}), "");
}

// The timeout exceeds poll()'s milliseconds, the clock's nanoseconds, or any range. Each rank is late in turn.
TEST(Timeouts, ThatNoClockHolds) {
  for (const double timeout : {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::max(), 1e10, 4294967296.0,
                               4294967.296, 2147483.648}) {
    for (const int late : {0, 1}) {
      const std::string name = fresh_name();
      EXPECT_EQ(all_well(in_processes(2,
                                      [&](int rank) {
                                        if (rank == late) sleep_ms(150);
                                        return join_and_add(name, rank, 2, timeout);
                                      })),
                "")
          << timeout << " s, rank " << late << " is late";
    }
  }
}

}  // namespace
}  // namespace copse::test
