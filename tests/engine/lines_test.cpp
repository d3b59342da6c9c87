// The signal primitives under a deterministic scheduler. A writer and its readers use a ring of two lines, one atomic
// access at a time, in every order or in many random orders.
//
// The lines are the engine's own (BasicLine) over an atomic with vector clocks: a release passes on what its writer
// knows, and an acquire takes it over. If an actor touches a payload without knowing of another's last access to it,
// that is a race, whether or not this order of steps shows wrong data. So the test also finds memory orders that are
// too weak.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "engine/signal/line.hpp"
#include "engine/signal/wait.hpp"

namespace copse::engine {
namespace {

constexpr int kActorsMost = 4;  // actor 0 writes, the others read
using Clock = std::array<std::uint32_t, kActorsMost>;

struct World {
  int running = 0;  // the actor that takes a step
  std::array<Clock, kActorsMost> knows{};

  void tick() { ++knows[static_cast<std::size_t>(running)][static_cast<std::size_t>(running)]; }
  Clock& mine() { return knows[static_cast<std::size_t>(running)]; }
};
World world;

template <class T>
struct WatchedAtomic {
  T value{};
  mutable Clock carried{};

  void store(T next, std::memory_order order) {
    value = next;
    carried = order == std::memory_order_release ? world.mine() : Clock{};
  }
  [[nodiscard]] T load(std::memory_order order) const {
    if (order == std::memory_order_acquire)
      for (std::size_t i = 0; i < kActorsMost; ++i) world.mine()[i] = std::max(world.mine()[i], carried[i]);
    return value;
  }
};

// The same lines without memory orders. The scheduler must find the fault.
template <class T>
struct RelaxedAtomic : WatchedAtomic<T> {
  void store(T next, std::memory_order) { WatchedAtomic<T>::store(next, std::memory_order_relaxed); }
  [[nodiscard]] T load(std::memory_order) const { return WatchedAtomic<T>::load(std::memory_order_relaxed); }
};

enum class Planted { nothing, acquire_early, post_before_write, await_early, done_before_read };

constexpr std::uint64_t kDepth = 2;
// The first tickets. In the middle of the run, words wrap or begin to use their highest bit, or tickets wrap.
constexpr std::uint64_t kFirsts[] = {0, (std::uint64_t{1} << 47) - 2, (std::uint64_t{1} << 48) - 2, (std::uint64_t{1} << 63) - 2,
                                     UINT64_MAX - 1};

// A writer posts `tickets` values, and every reader reads each of them. Returns what went wrong in this order of steps.
template <template <class> class Atomic>
class Ring {
 public:
  Ring(int readers, int tickets, Planted planted, std::uint64_t first)
      : tickets_(tickets), planted_(planted), first_(first), actors_(static_cast<std::size_t>(readers) + 1) {
    for (auto& line : progress_) line.word.value = first;
    world = {};
  }

  [[nodiscard]] std::vector<int> runnable() {
    std::vector<int> result;
    for (int actor = 0; actor < static_cast<int>(actors_.size()); ++actor)
      if (can_step(actor)) result.push_back(actor);
    return result;
  }
  [[nodiscard]] bool finished() const {
    return std::all_of(actors_.begin(), actors_.end(), [&](const Actor& a) { return a.turn == tickets_; });
  }

  // Takes one step of an actor that can take one. Returns an empty text if nothing is wrong.
  std::string step(int who) {
    world.running = who;
    world.tick();
    Actor& actor = actors_[static_cast<std::size_t>(who)];
    const std::uint64_t ticket = first_ + static_cast<std::uint64_t>(actor.turn);
    BasicLine<Atomic>& line = ring_[ticket & (kDepth - 1)];
    Access& access = accesses_[ticket & (kDepth - 1)];
    std::string wrong;
    enum class Does { wait, touch, signal };
    static constexpr Does kRight[] = {Does::wait, Does::touch, Does::signal};
    static constexpr Does kSwapped[] = {Does::wait, Does::signal, Does::touch};
    const bool swapped = who == 0 ? planted_ == Planted::post_before_write : planted_ == Planted::done_before_read;
    switch ((swapped ? kSwapped : kRight)[actor.stage]) {
      case Does::wait:
        if (!ready(who)) return "stepped while it had to wait";
        if (who == 0 && ++actor.waited < static_cast<int>(actors_.size()) - 1) return {};
        actor.waited = 0;
        break;
      case Does::touch:
        if (who == 0) {
          for (std::size_t i = 0; i < kActorsMost; ++i)
            if (access.read[i] > world.mine()[i] || access.written[i] > world.mine()[i]) wrong = "written too soon";
          access.written[0] = world.mine()[0];
          line.payload[0] = static_cast<std::byte>(ticket);
        } else {
          if (access.written[0] > world.mine()[0]) wrong = "read while unordered with its writing";
          if (line.payload[0] != static_cast<std::byte>(ticket)) wrong = "read another ticket's payload";
          access.read[static_cast<std::size_t>(who)] = world.mine()[static_cast<std::size_t>(who)];
        }
        break;
      case Does::signal:
        if (who == 0) {
          line.post(ticket);
        } else {
          progress_[static_cast<std::size_t>(who)].pass(ticket);
        }
        break;
    }
    if (++actor.stage == 3) {
      actor.stage = 0;
      ++actor.turn;
    }
    return wrong;
  }

 private:
  struct Actor {
    int turn = 0, stage = 0, waited = 0;
  };
  struct Access {  // each actor's last access to a payload, in its own time
    Clock written{}, read{};
  };

  [[nodiscard]] bool ready(int who) {
    const Actor& actor = actors_[static_cast<std::size_t>(who)];
    const std::uint64_t ticket = first_ + static_cast<std::uint64_t>(actor.turn);
    if (who == 0) {  // acquire: one reader after the other
      const std::uint64_t early = planted_ == Planted::acquire_early ? 1 : 0;
      return progress_[static_cast<std::size_t>(actor.waited) + 1].passed(ticket - kDepth - early);
    }
    const std::uint64_t early = planted_ == Planted::await_early ? 1 : 0;
    const auto& line = ring_[ticket & (kDepth - 1)];
    return line.reached(ticket) || (early != 0 && (line.word.value == 0 || line.reached(ticket - kDepth)));
  }
  [[nodiscard]] bool can_step(int who) {
    const Actor& actor = actors_[static_cast<std::size_t>(who)];
    if (actor.turn == tickets_) return false;
    if (actor.stage != 0) return true;
    const World before = world;  // looking must not change the world
    world.running = who;
    const bool result = ready(who);
    world = before;
    return result;
  }

  int tickets_;
  Planted planted_;
  std::uint64_t first_;
  std::array<BasicLine<Atomic>, kDepth> ring_{};
  std::array<BasicLine<Atomic>, kActorsMost> progress_{};
  std::array<Access, kDepth> accesses_{};
  std::vector<Actor> actors_;
};

struct Explored {
  std::uint64_t orders = 0;
  std::optional<std::string> wrong;
};

// Runs one order of steps: choices[i] picks among the runnable actors at step i, and 0 beyond the end. Reports how many
// there were.
template <template <class> class Atomic, class Choose>
std::string run_order(int readers, int tickets, Planted planted, std::uint64_t first, Choose&& choose) {
  Ring<Atomic> ring(readers, tickets, planted, first);
  std::string order;
  while (!ring.finished()) {
    const std::vector<int> runnable = ring.runnable();
    if (runnable.empty()) return order + ": deadlock";
    const int actor = runnable[choose(runnable.size())];
    order += static_cast<char>('0' + actor);
    const std::string wrong = ring.step(actor);
    if (!wrong.empty()) return order + ": " + wrong;
  }
  return {};
}

template <template <class> class Atomic>
Explored every_order(int readers, int tickets, Planted planted, std::uint64_t first = kFirsts[0]) {
  Explored result;
  std::vector<std::size_t> choices, widths;
  while (true) {
    std::size_t at = 0;
    widths.clear();
    const std::string wrong = run_order<Atomic>(readers, tickets, planted, first, [&](std::size_t width) {
      if (at == choices.size()) choices.push_back(0);
      widths.push_back(width);
      return choices[at++];
    });
    ++result.orders;
    if (!wrong.empty()) {
      result.wrong = wrong;
      return result;
    }
    choices.resize(widths.size());
    while (!choices.empty() && choices.back() + 1 == widths[choices.size() - 1]) choices.pop_back();
    if (choices.empty()) return result;
    ++choices.back();
  }
}

template <template <class> class Atomic>
Explored random_orders(int readers, int tickets, Planted planted, std::uint64_t orders, std::uint64_t first = kFirsts[0]) {
  Explored result;
  std::mt19937_64 random(1);
  while (result.orders < orders && !result.wrong) {
    ++result.orders;
    const std::string wrong =
        run_order<Atomic>(readers, tickets, planted, first, [&](std::size_t width) { return random() % width; });
    if (!wrong.empty()) result.wrong = wrong;
  }
  return result;
}

TEST(Lines, CarryTheRightPayloadInEveryOrder) {
  for (const std::uint64_t first : kFirsts) {
    const Explored result = every_order<WatchedAtomic>(1, 5, Planted::nothing, first);
    EXPECT_FALSE(result.wrong) << "from ticket " << first << ": " << *result.wrong;
    EXPECT_GT(result.orders, 1000U);
  }
}

TEST(Lines, CarryTheRightPayloadToSeveralReaders) {
  for (const std::uint64_t first : kFirsts) {
    const Explored result = random_orders<WatchedAtomic>(3, 12, Planted::nothing, 1000, first);
    EXPECT_FALSE(result.wrong) << "from ticket " << first << ": " << *result.wrong;
  }
}

TEST(Lines, PlantedFaultsAreFound) {
  for (Planted planted : {Planted::acquire_early, Planted::post_before_write, Planted::await_early, Planted::done_before_read}) {
    EXPECT_TRUE(every_order<WatchedAtomic>(1, 5, planted).wrong) << static_cast<int>(planted);
    EXPECT_TRUE(random_orders<WatchedAtomic>(3, 12, planted, 5000).wrong) << static_cast<int>(planted);
  }
}

TEST(Lines, AnOrderTooWeakIsFound) { EXPECT_TRUE(every_order<RelaxedAtomic>(1, 5, Planted::nothing).wrong); }

// Returns the tickets around every power of two, including 0.
std::vector<std::uint64_t> tickets_at_boundaries() {
  std::vector<std::uint64_t> result;
  for (int bit = 0; bit <= 64; ++bit)
    for (std::uint64_t step = 0; step < 7; ++step) result.push_back((bit == 64 ? 0 : std::uint64_t{1} << bit) - 3 + step);
  return result;
}

constexpr std::uint32_t kSomePortions[] = {0, 1, 2, 0x7fff, plan::kPortions - 1};

TEST(Words, ALineThatWasNeverPostedIsNeverReached) {
  const Line fresh{};
  for (const std::uint64_t ticket : tickets_at_boundaries())
    for (const std::uint32_t portion : kSomePortions) ASSERT_FALSE(fresh.reached(ticket, portion)) << ticket;
}

TEST(Words, ALineIsReachedForItsOwnTicketAlone) {
  for (const std::uint64_t ticket : tickets_at_boundaries())
    for (const std::uint32_t posted : kSomePortions) {
      Line line{};
      line.post(ticket, posted);
      for (const std::uint32_t portion : kSomePortions) {
        ASSERT_EQ(line.reached(ticket, portion), portion <= posted) << ticket << ", portions " << posted << ", " << portion;
        for (const int later : {6, 16, 31, 32, 46, 47})
          ASSERT_FALSE(line.reached(ticket + (std::uint64_t{1} << later), portion)) << ticket << " + 2^" << later;
      }
    }
}

TEST(Words, ALineSaysHowOldItIs) {
  for (const std::uint64_t ticket : tickets_at_boundaries()) {
    EXPECT_FALSE(Line{}.older_than(1, ticket));
    for (const std::uint32_t portion : kSomePortions) {
      Line line{};
      line.post(ticket, portion);
      EXPECT_FALSE(line.older_than(1, ticket + 1));
      EXPECT_TRUE(line.older_than(1, ticket + 2));
      EXPECT_FALSE(line.older_than(std::uint64_t{1} << 46, ticket + (std::uint64_t{1} << 46)));
      EXPECT_TRUE(line.older_than(std::uint64_t{1} << 46, ticket + (std::uint64_t{1} << 46) + 1));
    }
  }
}

TEST(Words, ProgressPassesEveryTicketBefore) {
  for (const std::uint64_t ticket : tickets_at_boundaries()) {
    Line progress{};
    progress.pass(ticket);
    for (const std::uint64_t before : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 48}) {
      EXPECT_TRUE(progress.passed(ticket - before));
      EXPECT_FALSE(progress.passed(ticket + 1 + before));
    }
  }
}

WaitPolicy short_policy(std::uint32_t spins, std::uint32_t stays, std::uint32_t yields, std::uint32_t nap_us) {
  WaitPolicy policy;
  policy.spins = spins;
  policy.stays = stays;
  policy.yields = yields;
  policy.nap_us = nap_us;
  return policy;
}

TEST(Waiting, EndsWhenReadyOnEveryPathOfThePolicy) {
  const WaitPolicy policy = short_policy(10, 10, 20, 1);
  for (int ready_after : {0, 1, 10, 11, 20, 21, 40, 41, 50}) {  // spins, stays, yields, naps
    int polls = 0;
    EXPECT_TRUE(wait_until(policy, [&] { return polls++ == ready_after; }, [] { return true; }));
    EXPECT_EQ(polls, ready_after + 1);
  }
}

TEST(Waiting, TheWatchEndsIt) {
  for (const WaitPolicy policy : {WaitPolicy::dedicated(), WaitPolicy::oversubscribed(), short_policy(1, 1, 1, 100)}) {
    int asked = 0;
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_FALSE(wait_until(policy, [] { return false; }, [&] { return ++asked < 3; }));
    const auto took = std::chrono::steady_clock::now() - begin;
    EXPECT_EQ(asked, 3);
    EXPECT_GE(took, 2 * kWatchEvery);  // it is not called all the time, because it makes system calls
  }
}

TEST(Waiting, NoLookAtTheWatchWhileTheWaitIsShort) {
  for (const WaitPolicy policy : {WaitPolicy::dedicated(), WaitPolicy::oversubscribed()}) {
    std::uint32_t polls = 0;
    EXPECT_TRUE(wait_until(policy, [&] { return ++polls > policy.spins + 20; }, [] { return false; }));
  }
}

}  // namespace
}  // namespace copse::engine
