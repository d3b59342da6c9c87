// Streams of calls in addition to a communicator's own.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <numeric>
#include <random>

#include "../engine/ranks.hpp"
#include "communicator/name_meeting.hpp"
#include "refusal.hpp"

namespace copse::test {
namespace {

using algorithms::Collective;
using communicator::Arguments;
using communicator::Communicator;
using engine::Outcome;

// A call on its own lane: each time another sum or another broadcast.
class Stream {
 public:
  Stream(Communicator& comm, int number, std::string& why)
      : comm_(comm), number_(number), count_(number % 3 == 0   ? 1
                                             : number % 3 == 1 ? 200
                                                               : 60000),
        in_(count_), out_(count_) {
    combine_.kernel = kernels::reduce_kernel(COPSE_SUM, COPSE_INT32);
    lane_ = comm.lane(why);
  }
  [[nodiscard]] bool has_lane() const { return lane_ != nullptr; }

  void start(int turn) {
    turn_ = turn;
    std::iota(in_.begin(), in_.end(), 10 * turn + comm_.rank());
    Arguments arguments{.collective = Collective::allreduce,
                        .input = in_.data(),
                        .output = out_.data(),
                        .count = count_,
                        .element_bytes = 4,
                        .combine = &combine_};
    if (broadcasts()) {
      std::iota(out_.begin(), out_.end(), comm_.rank() == root() ? turn : -1000000);
      arguments = {
          .collective = Collective::broadcast, .input = out_.data(), .output = out_.data(), .count = 4 * count_, .root = root()};
    }
    lane_->start(job_, arguments);
  }
  std::string end() {
    const Outcome outcome = lane_->wait(*job_);
    if (outcome != Outcome::done) return lane_->explain(outcome, job_.get());
    const int ranks = comm_.ranks();
    for (std::size_t i = 0; i < count_; ++i) {
      const int at = static_cast<int>(i), sum = ranks * (10 * turn_ + at) + ranks * (ranks - 1) / 2;
      if (out_[i] != (broadcasts() ? turn_ + at : sum))
        return "lane " + std::to_string(number_) + ", turn " + std::to_string(turn_) + ": a wrong element " + std::to_string(i);
    }
    return {};
  }
  Outcome wait() { return lane_->wait(*job_); }

 private:
  [[nodiscard]] bool broadcasts() const { return number_ % 2 == 1; }
  [[nodiscard]] int root() const { return number_ % comm_.ranks(); }

  Communicator& comm_;
  int number_, turn_ = 0;
  std::size_t count_;
  std::vector<std::int32_t> in_, out_;
  engine::Combine combine_;
  std::unique_ptr<Communicator> lane_;
  std::shared_ptr<communicator::Job> job_ = Communicator::make_job();
};

std::string start_in_own_orders(Communicator& comm) {
  std::mt19937 own(static_cast<unsigned>(comm.rank()));
  std::vector<std::unique_ptr<Stream>> streams;
  std::string why;
  for (int number = 0; number < 7; ++number) {
    streams.push_back(std::make_unique<Stream>(comm, number, why));
    if (!streams.back()->has_lane()) return why;
  }
  std::vector<std::size_t> order(streams.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (int turn = 0; turn < 60; ++turn) {
    std::shuffle(order.begin(), order.end(), own);
    const std::size_t before = own() % order.size();
    for (std::size_t k = 0; k < order.size(); ++k) {
      if (k == before && comm.barrier() != Outcome::done) return "no barrier among them";
      streams[order[k]]->start(turn);
    }
    std::shuffle(order.begin(), order.end(), own);
    for (const std::size_t number : order)
      if (std::string wrong = streams[number]->end(); !wrong.empty()) return wrong;
    if (turn % 10 != 9) continue;
    // The lanes of some streams go to other streams of another kind.
    for (const std::size_t number : {1, 4, 6}) streams[number].reset();
    for (const std::size_t number : {6, 4, 1}) {
      streams[number] = std::make_unique<Stream>(comm, static_cast<int>(number) + turn, why);
      if (!streams[number]->has_lane()) return why;
    }
  }
  return {};
}

TEST(Lanes, EachRankStartsInItsOwnOrder) {
  for (const Kind kind : kKinds)
    for (const int ranks : {2, 3}) EXPECT_EQ(run_ranks(kind, ranks, choose::Settings{}, start_in_own_orders), "") << name_of(kind);
}

TEST(Lanes, OverSeveralNodes) {
  choose::Settings settings;
  settings.nodes = 2;
  EXPECT_EQ(run_ranks(Kind::threads, 4, settings, start_in_own_orders), "");
}

// The more ranks a node has, the more memory a lane takes there. With 20 ranks on one node and 19 on the other, all ranks must
// still run out of lanes at the same time.
TEST(Lanes, OverNodesOfUnlikeSize) {
  choose::Settings settings;
  settings.nodes = 2;
  settings.waiting = choose::Waiting::yielding;  // as if the ranks outnumbered the processors: then lanes are larger
  const auto body = [](Communicator& comm) -> std::string {
    std::vector<std::unique_ptr<Stream>> streams;
    std::string why;
    for (int i = 0; i < 20; ++i) {
      streams.push_back(std::make_unique<Stream>(comm, 0, why));
      if (!streams.back()->has_lane()) return why;
      streams.back()->start(i);
      if (std::string wrong = streams.back()->end(); !wrong.empty()) return wrong;
    }
    return {};
  };
  EXPECT_EQ(run_ranks(Kind::threads, 39, settings, body), "");
}

std::size_t mapped() {
  std::ifstream maps("/proc/self/maps");
  std::size_t count = 0;
  for (std::string line; std::getline(maps, line);) count += line.find("/memfd:copse ") != std::string::npos ? 1 : 0;
  return count;
}

TEST(Lanes, ComeAndGoInTheSameMemory) {
  const auto body = [](Communicator& comm) -> std::string {
    std::string why;
    std::vector<std::unique_ptr<Stream>> kept(20);
    std::size_t most = 0;
    for (int turn = 0; turn < 2000; ++turn) {
      auto& place = kept[static_cast<std::size_t>(turn * 7) % kept.size()];
      place.reset();
      place = std::make_unique<Stream>(comm, 3 * (turn % 5), why);
      if (!place->has_lane()) return why;
      place->start(turn);
      if (std::string wrong = place->end(); !wrong.empty()) return wrong;
      if (turn < 100) most = mapped();
    }
    if (mapped() > most) return "20 lanes at a time need " + std::to_string(mapped()) + " blocks, after " + std::to_string(most);
    return {};
  };
  EXPECT_EQ(run_ranks(Kind::processes, 2, choose::Settings{}, body), "");
}

// If a rank gives up in any stream, or ends, ranks that wait in other streams learn of it.
TEST(Lanes, BadNewsOfOneIsNewsOfAll) {
  for (const bool dies : {false, true}) {
    const std::string name = "lanes-" + std::to_string(getpid()) + std::to_string(dies ? 1 : 0);
    const std::vector<std::string> complaints = in_processes(2, [&](int rank) -> std::string {
      std::string why;
      auto bootstrap = communicator::meet_by_name(name, rank, 2, communicator::Deadline::after(10), why);
      if (!bootstrap) return why;
      const auto comm = Communicator::create(std::move(bootstrap), nullptr, {}, why);
      if (!comm) return why;
      Stream one(*comm, 0, why), two(*comm, 2, why);
      if (rank == 1 && dies) _exit(0);
      if (rank == 1) {
        comm->give_up();
        return {};
      }
      one.start(1);
      two.start(2);
      const Outcome expected = dies ? Outcome::peer_lost : Outcome::peer_failed;
      std::string wrong;
      if (one.wait() != expected || two.wait() != expected) wrong = "wrong outcome";
      return wrong;
    });
    EXPECT_EQ(complaints[0], "") << dies;
  }
}

constexpr int kFirstBlock = 16;  // as in lanes.cpp

TEST(Lanes, NoneWhereThereIsNoMemory) {
  const std::string name = "lanes-refused-" + std::to_string(getpid());
  const std::vector<std::string> complaints = in_processes(2, [&](int rank) -> std::string {
    std::string why;
    auto bootstrap = communicator::meet_by_name(name, rank, 2, communicator::Deadline::after(10), why);
    if (!bootstrap) return why;
    const auto comm = Communicator::create(std::move(bootstrap), nullptr, {}, why);
    if (!comm) return why;
    std::vector<std::unique_ptr<Stream>> first;
    for (int number = 0; number < kFirstBlock; ++number) first.push_back(std::make_unique<Stream>(*comm, number, why));
    if (!first.back()->has_lane()) return why;
    if (rank == 0 && !refuse(SYS_memfd_create)) return "skip";
    const Stream another(*comm, 3, why);
    if (another.has_lane() || why.find("rank 0 could not make common memory") == std::string::npos) return "why not: " + why;
    for (int turn = 0; turn < 3; ++turn) {
      first[static_cast<std::size_t>(turn)]->start(turn);
      if (std::string wrong = first[static_cast<std::size_t>(turn)]->end(); !wrong.empty()) return wrong;
    }
    first[2].reset();
    const Stream third(*comm, 2, why);
    return third.has_lane() ? "" : "a lane that was given back is not to be had: " + why;
  });
  if (complaints[0] == "skip") GTEST_SKIP() << "no seccomp here";
  for (const std::string& complaint : complaints) EXPECT_EQ(complaint, "");
}

}  // namespace
}  // namespace copse::test
