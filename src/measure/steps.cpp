// Times calls, steps, looks at words, and turns.
#include "measure/steps.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <new>
#include <stdexcept>
#include <thread>

#include "communicator/shared_bootstrap.hpp"
#include "engine/signal/line.hpp"
#include "engine/signal/wait.hpp"
#include "measure/crew.hpp"

namespace copse::measure {
namespace {

using communicator::Communicator;
using Ranks = std::vector<std::unique_ptr<Communicator>>;

constexpr int kFew = 2, kMany = 8;
constexpr int kCalls = 24;  // fewer than lines in a ring, so that no rank waits for another
constexpr int kTimes = 24;

// The time in ns that a gather of eight bytes takes at the root and at another rank.
struct Times {
  double root = 1e9, other = 1e9;
};
Times gather(const Ranks& ranks) {
  Times least;
  std::array<double, kMany> all{};
  double one = 1;
  const auto calls = [&](std::size_t rank) {
    communicator::Arguments arguments;
    arguments.collective = algorithms::Collective::gather;
    arguments.input = &one;
    arguments.output = all.data();
    arguments.count = sizeof one;
    const auto begin = Clock::now();
    for (int call = 0; call < kCalls; ++call)
      if (ranks[rank]->run(arguments) != engine::Outcome::done) throw std::runtime_error("a call that is timed has failed");
    return ns_since(begin) / kCalls;
  };
  for (int time = 0; time < kTimes; ++time) {
    for (std::size_t rank = 1; rank < ranks.size(); ++rank) least.other = std::min(least.other, calls(rank));
    least.root = std::min(least.root, calls(0));
  }
  return least;
}

// Returns the time in ns of a look at a word that has come.
double look_ns() {
  constexpr int kLooks = 64;
  const Pages memory(kLooks * sizeof(engine::Line));
  auto* const lines = reinterpret_cast<engine::Line*>(memory.at());
  for (int i = 0; i < kLooks; ++i) lines[i].post(1);
  double least = 1e9;
  for (int time = 0; time < 64; ++time) {
    const auto begin = Clock::now();
    for (int i = 0; i < kLooks; ++i)
      while (!lines[i].reached(1)) {
      }
    least = std::min(least, ns_since(begin) / kLooks);
  }
  return least;
}

}  // namespace

Solo::Solo() : few_(make(kFew)), many_(make(kMany)) {}

Solo::Ranks Solo::make(int ranks) {
  choose::Settings settings;
  settings.learn = choose::Learn::never;
  settings.slots = choose::Stores::cached;
  settings.bind = "none";
  std::string mistake;
  auto forced = choose::forced_in(algorithms::Collective::gather, "flat:line", mistake);
  if (forced) settings.forced.push_back(*forced);
  communicator::Meeting meeting(ranks);
  Ranks made(static_cast<std::size_t>(ranks));
  std::vector<std::string> why(made.size());
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      const auto number = static_cast<std::size_t>(rank);
      made[number] = Communicator::create(meeting.come(rank, communicator::Deadline::after(60)), nullptr, settings, why[number]);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::size_t rank = 0; rank < made.size(); ++rank)
    if (!made[rank]) throw std::runtime_error("no communicator could be made: " + why[rank]);
  return made;
}

// The root of a flat gather awaits and copies one block for each other rank, and copies its own: two steps and one word more for
// each rank more. Another rank acquires, copies, posts and is done.
Solo::CallTimes Solo::costs(unsigned processor, double own_line_ns) const {
  CallTimes costs;
  in_threads(std::array{processor}, [&](std::size_t) {
    const Times few = gather(few_), many = gather(many_);
    costs.wait_ns = look_ns();
    const double of_rank = (many.root - few.root) / (kMany - kFew);
    costs.step_ns = std::max(0.0, (of_rank - costs.wait_ns - 2 * own_line_ns) / 2);
    const double of_others_steps = 4 * costs.step_ns + 2 * own_line_ns;
    costs.call_ns = std::max(0.0, few.other - of_others_steps);
  });
  return costs;
}

double turn_ns(unsigned processor) {
  // If other programs want the processor, a turn may take milliseconds. So time bounds how many there are.
  constexpr std::uint64_t kTurns = 64;
  constexpr int kTimesMost = 32;
  constexpr double kLongest = 5e7;  // ns
  struct Result {
    std::atomic<bool> over{false};
    double ns = 0;
  };
  const Pages memory(3 * sizeof(engine::Line));
  auto* const lines = reinterpret_cast<engine::Line*>(memory.at());
  Result& result = *new (memory.at(2 * sizeof(engine::Line))) Result;
  in_processes(std::array{processor, processor}, [&](std::size_t me) {
    double least = 1e12;
    std::uint64_t ticket = 0;
    const auto first = Clock::now();
    for (int time = 0; time < kTimesMost && !result.over; ++time) {
      const auto begin = Clock::now();
      for (std::uint64_t turn = 0; turn < kTurns; ++turn, ++ticket) {
        // The other process hears of the end with the last word of a batch.
        if (me == 0 && turn + 1 == kTurns) result.over = time > 0 && ns_since(first) > kLongest;
        if (me == 0) lines[0].post(ticket);
        engine::wait_until(
            engine::WaitPolicy::oversubscribed(), [&] { return lines[1 - me].reached(ticket); }, [] { return true; });
        if (me == 1) lines[1].post(ticket);
      }
      if (time > 0) least = std::min(least, ns_since(begin) / (2 * kTurns));
    }
    if (me == 0) result.ns = least;
  });
  return result.ns;
}

}  // namespace copse::measure
