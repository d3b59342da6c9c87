// The learner, with all ranks played: they stay in step, they find the fastest way, and trying costs what it may.
#include "communicator/learner.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <set>
#include <utility>

namespace copse::communicator {
namespace {

// A program on several ranks, call by call. Every rank has a learner of its own, and knows only what it would know.
class Program {
 public:
  // Returns how long a call takes, by its number, kind and way.
  using Time = std::function<double(std::uint64_t, Kind, int)>;
  Program(int ranks, Pace pace, int ways, Time time) : time_(std::move(time)), spent_(static_cast<std::size_t>(ranks)) {
    for (int rank = 0; rank < ranks; ++rank) {
      learners_.emplace_back(pace, [this, rank, ways](Kind) {
        if (rank == 0) made_ns_ += making_ns_;
        return ways;
      });
    }
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // From now on, so long it takes to make the ways of a kind, and what a way needs when it first runs.
  void set_making(double ns) { making_ns_ = ns; }

  // A call by all ranks. `refuses`: that rank refuses it, and only counts it.
  void call(Kind kind, int refuses = -1) {
    ++number_;
    if (learners_[0].must_agree(number_)) agree();
    const int way = way_of(kind, refuses);
    double ns = time_(number_, kind, way) * (1 + 0.2 * noise_(random_));
    if (way != 0 && made_.insert({kind, way}).second) ns += making_ns_;
    if (learners_[0].is_on_trial(number_, kind)) ns += kTiming;
    elapsed_ += ns;
    best_ += best(kind);
    for (std::size_t rank = 0; rank < learners_.size(); ++rank) {
      if (static_cast<int>(rank) == refuses) continue;
      const double waited = 0.3 * ns * noise_(random_);  // ranks come when they come
      learners_[rank].took(number_, kind, way, waited + ns);
      spent_[rank][kind] += waited + ns;
    }
  }

  [[nodiscard]] int current(Kind kind) const {
    const auto found = learners_[0].subjects().find(kind);
    return found == learners_[0].subjects().end() ? 0 : found->second.current;
  }
  [[nodiscard]] double elapsed() const { return elapsed_; }
  [[nodiscard]] double overhead() const { return elapsed_ / best_ - 1; }
  [[nodiscard]] int agreements() const { return agreements_; }
  [[nodiscard]] int tried() const { return tried_; }
  [[nodiscard]] std::uint64_t number() const { return number_; }
  void reset_count() { elapsed_ = best_ = 0; }

 private:
  static constexpr double kAgreement = 1500, kTiming = 80;  // ns

  [[nodiscard]] double best(Kind kind) const {
    double least = 1e18;
    for (int way = 0;
         way < static_cast<int>(learners_[0].subjects().contains(kind) ? learners_[0].subjects().at(kind).ways.size() : 1); ++way)
      least = std::min(least, time_(number_, kind, way));
    return least * 1.1;
  }
  int way_of(Kind kind, int refuses) {
    int way = -1;
    for (std::size_t rank = 0; rank < learners_.size(); ++rank) {
      EXPECT_EQ(learners_[rank].must_agree(number_), learners_[0].must_agree(number_));
      if (static_cast<int>(rank) == refuses) continue;
      const int mine = learners_[rank].way(number_, kind);
      EXPECT_TRUE(way < 0 || mine == way) << "call " << number_ << ": ranks run different ways";
      way = mine;
    }
    tried_ += way != current(kind) ? 1 : 0;
    return way;
  }
  void agree() {
    Learner::Words all;
    all.fill(std::numeric_limits<std::int64_t>::min());
    for (std::size_t rank = 0; rank < learners_.size(); ++rank) {
      const auto words = learners_[rank].words(spent_[rank], last_ns_, number_);
      for (std::size_t i = 0; i < all.size(); ++i) all[i] = std::max(all[i], words[i]);
      spent_[rank].clear();
    }
    for (Learner& learner : learners_) learner.agreed(all, number_);
    last_ns_ = kAgreement + std::exchange(made_ns_, 0);
    elapsed_ += last_ns_;
    ++agreements_;
  }

  Time time_;
  std::vector<Learner> learners_;
  std::vector<std::map<Kind, double>> spent_;
  std::mt19937_64 random_{5};  // NOLINT: the same every time
  std::exponential_distribution<double> noise_{2};
  std::uint64_t number_ = 0;
  std::set<std::pair<Kind, int>> made_;
  double elapsed_ = 0, best_ = 0, making_ns_ = 0, made_ns_ = 0, last_ns_ = 0;
  int agreements_ = 0, tried_ = 0;
};

TEST(Learner, FindsTheFastestWay) {
  for (const double ns : {300.0, 10000.0, 500000.0}) {
    Program program(4, {}, 6, [&](std::uint64_t, Kind, int way) { return way == 3 ? ns : ns * (1.3 + 0.3 * way); });
    for (int i = 0; i < 100000; ++i) program.call(7);
    EXPECT_EQ(program.current(7), 3) << ns;
    program.reset_count();
    for (int i = 0; i < 100000; ++i) program.call(7);
    EXPECT_EQ(program.current(7), 3) << ns;
    EXPECT_LT(program.overhead(), 0.015) << ns;
  }
}

TEST(Learner, TryingCostsOnePercent) {
  for (const double ns : {300.0, 10000.0, 500000.0}) {
    // The first way is the best, and the others are up to five times as slow.
    Program program(4, {}, 6, [&](std::uint64_t, Kind, int way) { return ns * (1 + 0.8 * way); });
    for (int i = 0; i < 20000; ++i) program.call(7);
    EXPECT_EQ(program.current(7), 0) << ns;
    EXPECT_GT(program.tried(), 5) << ns;
    EXPECT_LT(program.overhead(), 0.02) << ns;
  }
}

TEST(Learner, ManyShortKindsCostOnePercentToo) {
  // As a benchmark does: each kind is called for a few milliseconds. What must be made for ways takes longer than a hundred calls.
  Program program(2, {}, 6, [&](std::uint64_t, Kind kind, int way) { return (200.0 + 10 * kind) * (1 + 0.8 * way); });
  program.set_making(25000);
  for (Kind kind = 0; kind < 30; ++kind)
    for (int i = 0; i < 10000; ++i) program.call(kind);
  EXPECT_GT(program.tried(), 0);
  EXPECT_LT(program.overhead(), 0.012);
}

TEST(Learner, LeavesProgramsWithFewCallsAlone) {
  Program program(4, {}, 6, [](std::uint64_t, Kind, int way) { return 1000.0 / (1 + way); });
  for (int i = 0; i < 150; ++i) program.call(7);
  EXPECT_EQ(program.agreements(), 0);
  EXPECT_EQ(program.tried(), 0);
}

TEST(Learner, FollowsAChange) {
  for (const double ns : {300.0, 10000.0, 500000.0}) {
    // In the middle the machine becomes another one: the best way becomes slow, and another one fast.
    constexpr std::uint64_t kMiddle = 50000;
    Program program(4, {}, 5, [&](std::uint64_t number, Kind, int way) { return way == (number < kMiddle ? 1 : 4) ? ns : 2 * ns; });
    for (std::uint64_t i = 0; i < kMiddle; ++i) program.call(7);
    EXPECT_EQ(program.current(7), 1) << ns;
    for (std::uint64_t i = 0; i < 30000; ++i) program.call(7);
    EXPECT_EQ(program.current(7), 4) << ns;
  }
}

TEST(Learner, FollowsAChangeSoon) {
  // All ways lost to the first one long ago and are left alone for many calls. Then the first one becomes slow.
  for (const double ns : {300.0, 10000.0, 500000.0}) {
    constexpr std::uint64_t kMiddle = 200000;
    Program program(4, {}, 6,
                    [&](std::uint64_t number, Kind, int way) { return way == 0 && number > kMiddle ? 8 * ns : ns * (1 + way); });
    for (std::uint64_t i = 0; i < kMiddle; ++i) program.call(7);
    EXPECT_EQ(program.current(7), 0) << ns;
    int calls = 0;
    while (program.current(7) != 1 && calls < 10000) {
      program.call(7);
      ++calls;
    }
    EXPECT_LT(calls, ns < 1000 ? 4000 : 1500) << ns;
  }
}

// Counts the calls until a kind runs by the wanted way, up to so many.
int calls_until(Program& program, Kind kind, int way, int most) {
  int calls = 0;
  for (; program.current(kind) != way && calls < most; ++calls) program.call(kind);
  return calls;
}

TEST(Learner, FollowsMessagesOfAnotherSize) {
  for (const double ns : {300.0, 10000.0, 500000.0}) {
    Program program(4, {}, 6, [&](std::uint64_t, Kind kind, int way) { return ns * (way == (kind == 7 ? 2 : 3) ? 1 : 1.6); });
    for (int i = 0; i < 100000; ++i) program.call(7);
    EXPECT_EQ(program.current(7), 2) << ns;
    EXPECT_LT(calls_until(program, 8, 3, 100000), ns < 1000 ? 20000 : 1000) << ns;
  }
}

// A neighbour takes processors. Ways that wait actively then take several times as long, and no two calls take the same time.
TEST(Learner, FollowsABusyNeighbour) {
  constexpr std::uint64_t kMiddle = 100000;
  std::mt19937_64 random{7};  // NOLINT: the same every time
  std::exponential_distribution<double> lost{1};
  for (const double ns : {10000.0, 500000.0}) {
    Program program(4, {}, 5, [&](std::uint64_t number, Kind, int way) {
      if (number < kMiddle) return ns * (1 + 0.4 * way);
      return (way < 3 ? 5 : 1 + 0.4 * way) * ns * (1 + 0.5 * lost(random));
    });
    for (std::uint64_t i = 0; i < kMiddle; ++i) program.call(7);
    EXPECT_EQ(program.current(7), 0) << ns;
    EXPECT_LT(calls_until(program, 7, 3, 100000), 1000) << ns;
  }
}

// The processors of the ranks become far: every way that goes through lines and slots takes four times as long, the copy of the
// kernel hardly longer.
TEST(Learner, FollowsProcessorsThatBecomeFar) {
  constexpr std::uint64_t kMiddle = 100000;
  for (const double ns : {10000.0, 500000.0}) {
    Program program(2, {}, 6, [&](std::uint64_t number, Kind, int way) {
      const bool kernel = way == 4;
      return ns * (kernel ? 1.8 : 1 + 0.2 * way) * (number < kMiddle || kernel ? 1 : 4);
    });
    for (std::uint64_t i = 0; i < kMiddle; ++i) program.call(7);
    EXPECT_EQ(program.current(7), 0) << ns;
    EXPECT_LT(calls_until(program, 7, 4, 100000), 1000) << ns;
  }
}

TEST(Learner, SeveralKindsAreLearned) {
  Program program(3, {}, 4,
                  [](std::uint64_t, Kind kind, int way) { return (kind == 9 ? 20000.0 : 2000.0) * (way == kind % 4 ? 1 : 1.7); });
  for (int i = 0; i < 150000; ++i) program.call(i % 3 == 0 ? 9 : i % 2 == 0 ? 6 : 7);
  EXPECT_EQ(program.current(9), 1);
  EXPECT_EQ(program.current(6), 2);
  EXPECT_EQ(program.current(7), 3);
}

// One kind takes most of the time and comes once in 600 calls, so no trial ever sees enough of it.
TEST(Learner, AKindThatComesSeldomDoesNotStopTheOthers) {
  constexpr Kind kSeldom = 9, kNowAndThen = 6, kOften = 7;
  Program program(3, {}, 4, [](std::uint64_t, Kind kind, int way) {
    const double ns = kind == kSeldom ? 1e8 : kind == kNowAndThen ? 2e5 : 2000.0;
    return ns * (way == kind % 4 ? 1 : 1.7);
  });
  for (int i = 0; i < 300000; ++i) program.call(i % 600 == 0 ? kSeldom : i % 40 == 0 ? kNowAndThen : kOften);
  EXPECT_EQ(program.current(kNowAndThen), 2);
  EXPECT_EQ(program.current(kOften), 3);
}

TEST(Learner, CallsOfOneParityAreSampledToo) {
  Program program(3, {}, 4, [](std::uint64_t, Kind, int way) { return way == 2 ? 1000.0 : 1700.0; });
  for (int i = 0; i < 60000; ++i) program.call(i % 2 == 0 ? 9 : 8);
  EXPECT_EQ(program.current(9), 2);
  EXPECT_EQ(program.current(8), 2);
}

TEST(Learner, ARankThatRefusesCallsStaysInStep) {
  std::mt19937 random(3);  // NOLINT: the same every time
  Program program(4, {50, 8, 0.2}, 4, [](std::uint64_t, Kind, int way) { return way == 2 ? 1000.0 : 1700.0; });
  for (int i = 0; i < 50000; ++i)
    program.call(static_cast<Kind>(random() % 2), random() % 50 == 0 ? static_cast<int>(random() % 4) : -1);
  EXPECT_EQ(program.current(0), 2);
  EXPECT_EQ(program.current(1), 2);
}

}  // namespace
}  // namespace copse::communicator
