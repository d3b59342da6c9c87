// Calls to other nodes (communicator/node_watch.hpp). Each node has an address of the loopback, in a network of the test's own,
// which can be cut.
#include "communicator/node_watch.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <thread>
#include <utility>
#include <vector>

namespace {

using copse::communicator::NodeCard;
using copse::communicator::NodeWatch;
using copse::engine::Descriptor;
using Clock = NodeWatch::Clock;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kLimit{1};  // so a call lasts a second, and the third one that gets no answer counts
constexpr milliseconds kLonger{4200};

std::uint32_t address_of(int node) { return htonl(INADDR_LOOPBACK + static_cast<std::uint32_t>(node)); }
std::uint64_t host_of(int node) { return static_cast<std::uint64_t>(100 + node); }

// Process 0 watches. The others are only cards, of processes that sit on these nodes.
class Watcher {
 public:
  explicit Watcher(std::initializer_list<int> nodes, seconds limit = kLimit, std::vector<std::uint32_t> mine = {address_of(0)})
      : watch_(limit, host_of(0), std::move(mine)) {
    for (const int node : nodes) cards_.push_back(NodeWatch(kLimit, host_of(node), {address_of(node)}).card());
    cards_.front() = watch_.card();
  }
  [[nodiscard]] NodeCard& card(std::size_t process) { return cards_[process]; }
  void begin() { watch_.begin(cards_, 0); }

  [[nodiscard]] int ask(Clock::time_point since = Clock::now() - std::chrono::hours(1), std::span<const int> processes = {}) {
    return watch_.lost(processes, since);
  }
  // Lets each node be called once.
  void call_all() {
    for (std::size_t i = 0; i < 2 * cards_.size(); ++i) EXPECT_EQ(ask(), -1);
  }
  // Asks for so long, as one that has waited all the time before. Returns the rank whose node is found to be lost.
  int ask_for(milliseconds longest, std::span<const int> processes = {}) {
    const auto begin = Clock::now();
    for (int lost = -1;; std::this_thread::sleep_for(milliseconds(5)))
      if (lost = ask(begin - std::chrono::hours(1), processes); lost >= 0 || Clock::now() - begin > longest) return lost;
  }

 private:
  NodeWatch watch_;
  std::vector<NodeCard> cards_;
};

void set_loopback(bool up) {
  const Descriptor any(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request{};
  std::snprintf(request.ifr_name, sizeof request.ifr_name, "lo");
  request.ifr_flags = up ? IFF_UP | IFF_RUNNING : 0;
  ASSERT_EQ(ioctl(any.get(), SIOCSIFFLAGS, &request), 0);
}

// Runs the body in a process that has a network of its own.
void in_network(const std::function<void()>& body) {
  constexpr int kNotPermitted = 77;
  const pid_t child = fork();
  if (child == 0) {
    if (unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) _exit(kNotPermitted);
    set_loopback(true);
    body();
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == kNotPermitted) GTEST_SKIP() << "namespaces are not permitted here";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

// A place that answers no call, because as many have come as it has room for. It plays a node behind a network that has been cut.
class Full {
 public:
  explicit Full(const NodeCard& card) : listening_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in where{};
    where.sin_family = AF_INET;
    where.sin_addr.s_addr = card.addresses.front();
    where.sin_port = card.port;
    auto* const address = reinterpret_cast<sockaddr*>(&where);
    EXPECT_EQ(bind(listening_.get(), address, sizeof where), 0);
    EXPECT_EQ(listen(listening_.get(), 0), 0);
    for (int i = 0; i < 3; ++i) {
      callers_.emplace_back(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
      static_cast<void>(connect(callers_.back().get(), address, sizeof where));
    }
    std::this_thread::sleep_for(milliseconds(20));
  }

 private:
  Descriptor listening_;
  std::vector<Descriptor> callers_;
};

TEST(NodeWatch, LosesANodeThatAnswersNoMore) {
  in_network([] {
    Watcher watcher({0, 1, 2});
    watcher.begin();
    EXPECT_EQ(watcher.ask_for(kLonger), -1) << "though all answer";
    set_loopback(false);
    EXPECT_EQ(watcher.ask(), -1);
    const auto cut = Clock::now();
    EXPECT_EQ(watcher.ask_for(seconds(10)), 1);
    EXPECT_GE(Clock::now() - cut, milliseconds(2900));
    EXPECT_EQ(watcher.ask(Clock::now() - milliseconds(500)), -1) << "though this wait has just begun";

    set_loopback(true);
    for (const auto begin = Clock::now(); Clock::now() - begin < seconds(10) && watcher.ask() >= 0;)
      std::this_thread::sleep_for(milliseconds(5));
    EXPECT_EQ(watcher.ask_for(kLonger), -1) << "though all answer again";
    set_loopback(false);
    EXPECT_EQ(watcher.ask_for(seconds(10)), 1);
  });
}

TEST(NodeWatch, LosesANodeThatSaysNothingAtAll) {
  in_network([] {
    Watcher watcher({0, 1, 2});
    watcher.begin();
    watcher.call_all();
    const Full silent(watcher.card(2));
    EXPECT_EQ(watcher.ask_for(seconds(10)), 2);
  });
}

// A firewall may be in the way.
TEST(NodeWatch, DoesNotJudgeANodeThatHasNeverAnswered) {
  in_network([] {
    Watcher watcher({0, 1, 2});
    const Full silent(watcher.card(1));
    watcher.begin();
    EXPECT_EQ(watcher.ask_for(kLonger), -1);
    set_loopback(false);
    EXPECT_EQ(watcher.ask_for(seconds(10)), 2) << "node 1 was always silent";
  });
}

// A rank that was stopped, or that computed, finds calls without an answer, but few.
TEST(NodeWatch, CountsCallsAndNotHours) {
  in_network([] {
    Watcher watcher({0, 1});
    watcher.begin();
    watcher.call_all();
    set_loopback(false);
    for (int i = 0; i < 3; ++i) {
      std::this_thread::sleep_for(milliseconds(1500));
      EXPECT_EQ(watcher.ask(), -1);
    }
    EXPECT_EQ(watcher.ask_for(seconds(10)), 1);
  });
}

TEST(NodeWatch, ForgetsWhatWasSilentLongAgo) {
  in_network([] {
    Watcher watcher({0, 1});
    watcher.begin();
    watcher.call_all();
    set_loopback(false);
    EXPECT_EQ(watcher.ask_for(milliseconds(2500)), -1);
    std::this_thread::sleep_for(seconds(4));
    EXPECT_EQ(watcher.ask_for(milliseconds(1500)), -1);
    EXPECT_EQ(watcher.ask_for(seconds(10)), 1);
  });
}

TEST(NodeWatch, IsContentWithOneOfTheAddresses) {
  in_network([] {
    Watcher watcher({0, 1});
    watcher.card(1).addresses = {address_of(1), address_of(2), htonl(0xC0000201)};  // to 192.0.2.1 there is no way
    watcher.begin();
    watcher.call_all();
    const Full silent(watcher.card(1));
    EXPECT_EQ(watcher.ask_for(kLonger), -1);
    set_loopback(false);
    EXPECT_EQ(watcher.ask_for(seconds(10)), 1);
  });
}

TEST(NodeWatch, NamesARankOfTheCommunicator) {
  in_network([] {
    Watcher watcher({0, 1, 1, 2, 3});
    watcher.begin();
    watcher.call_all();
    const Full silent(watcher.card(3));
    EXPECT_EQ(watcher.ask_for(seconds(10), std::array{0, 4, 3}), 2);
    EXPECT_EQ(watcher.ask_for(kLonger, std::array{0, 4, 1}), -1) << "none of these sits there";
  });
}

TEST(NodeWatch, HasNothingToDoOnOneNodeOrWithoutALimit) {
  in_network([] {
    Watcher of_one({0, 0}), without({0, 1}, seconds(0));
    for (Watcher* const watcher : {&of_one, &without}) watcher->begin();
    EXPECT_EQ(without.card(0).port, 0);
    for (Watcher* const watcher : {&of_one, &without}) EXPECT_EQ(watcher->ask_for(milliseconds(50)), -1);
    set_loopback(false);
    for (Watcher* const watcher : {&of_one, &without}) EXPECT_EQ(watcher->ask_for(kLonger), -1);
  });
}

// The networks of containers have the same addresses on several nodes.
TEST(NodeWatch, CallsNoAddressOfTwoNodes) {
  in_network([] {
    Watcher watcher({0, 1, 2, 3}, kLimit, {address_of(0), address_of(1)});
    watcher.card(2).addresses[1] = watcher.card(3).addresses[0];
    watcher.begin();
    watcher.call_all();
    const Full first(watcher.card(1)), third(watcher.card(3));
    EXPECT_EQ(watcher.ask_for(kLonger), -1);
    const Full second(watcher.card(2));
    EXPECT_EQ(watcher.ask_for(seconds(10)), 2);
  });
}

// More nodes than are called at a time.
TEST(NodeWatch, CallsManyNodes) {
  in_network([] {
    Watcher watcher({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19});
    watcher.begin();
    watcher.call_all();
    {
      const Full last(watcher.card(19));
      EXPECT_EQ(watcher.ask_for(seconds(10)), 19);
    }
    std::vector<std::unique_ptr<Full>> silent;
    for (std::size_t process = 1; process < 20; ++process) silent.push_back(std::make_unique<Full>(watcher.card(process)));
    EXPECT_GE(watcher.ask_for(seconds(30)), 1);
  });
}

// A program may close all descriptors, and open files under their numbers.
TEST(NodeWatch, KeepsItsHandsOffFilesOfTheProgram) {
  in_network([] {
    Watcher watcher({0, 1});
    watcher.begin();
    watcher.call_all();
    {
      const Full silent(watcher.card(1));
      EXPECT_EQ(watcher.ask_for(milliseconds(1500)), -1);
    }
    close_range(3, ~0U, 0);
    int ends[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    for (int fd = 400; fd < 700; ++fd) dup2(ends[0], fd);
    EXPECT_EQ(watcher.ask_for(kLonger), -1) << "it answers again";
    for (int fd = 400; fd < 700; ++fd) EXPECT_GE(fcntl(fd, F_GETFD), 0) << fd;
    char any = 0;
    EXPECT_EQ(recv(ends[1], &any, 1, MSG_DONTWAIT), -1);
  });
}

}  // namespace
