// A scheduler that owns every wait of the code under test: threads of the program become actors of one thread, and which of
// them goes on is decided here at every access to an atomic, every lock, yield, nap and wait. Nothing is changed in the code:
// it is that which is built for ThreadSanitizer, linked with the entry points in runtime.cpp instead of ThreadSanitizer's.
//
// - Schedules are explored exhaustively up to a number of preemptions, or at random from a seed. What finds a fault says how
//   to run that one schedule again: TEST_SCHEDULE=... for the same test.
// - Vector clocks: a release hands on what its writer knows, an acquire takes it over. Memory that is watched is checked at
//   each plain access: one that is not ordered behind the last of another actor, one of them a write, is a race, whatever
//   value it happened to read.
// - At random, a load may also see an older value than the newest where C11 allows it, and an actor that waits may look so
//   often before another does anything that it takes it for slow.
// - Time stands still, but for a tick when every actor waits. Actors that all wait, again and again, for what nobody does any
//   more, hang.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace copse::schedules {

// One execution, being set up: its actors, and the memory in which races are looked for.
class Execution {
 public:
  void actor(std::function<void()> body) { actors.push_back(std::move(body)); }
  void watch(const void *begin, std::size_t bytes, const char *name) { watched.push_back({begin, bytes, name}); }
  // Atomic accesses in this memory lose their order, of stores or of loads: for planted faults.
  void weaken(const void *begin, std::size_t bytes, bool stores) { weakened.push_back({begin, bytes, stores}); }
  // After all actors have come to their ends: what is wrong, or nothing.
  void afterwards(std::function<std::string()> check) { check_ = std::move(check); }

  struct Memory {
    const void *begin;
    std::size_t bytes;
    const char *name;
  };
  struct Weakened {
    const void *begin;
    std::size_t bytes;
    bool stores;
  };
  std::vector<std::function<void()>> actors;
  std::vector<Memory> watched;
  std::vector<Weakened> weakened;
  std::function<std::string()> check_ = [] { return std::string{}; };
};
// Called before each execution: makes a fresh world. What it makes must live as long as the actors' bodies.
using Prepare = std::function<void(Execution &)>;

// What an actor calls to end the execution with a complaint. Does not return in an actor.
void complain(const std::string &what);

// No atomic in this memory may be touched any more: as if it were freed.
void let_go(const void *begin, std::size_t bytes);

struct Explored {
  std::uint64_t executions = 0, points = 0;  // points: at which another actor might have gone on
  bool whole = false;                        // every schedule within the bound was met
  std::optional<std::string> wrong;          // what was found, and how to run it again
};

// Every schedule with at most so many switches that nothing forced.
[[nodiscard]] Explored every_schedule(int preemptions, const Prepare &set_up, std::uint64_t most = UINT64_MAX);
// So many random ones; loads see older values now and then.
[[nodiscard]] Explored random_schedules(std::uint64_t count, const Prepare &set_up, std::uint64_t seed = 1);

// Runs it in a forked process: an exploration that finds something leaves its actors where they stand.
[[nodiscard]] Explored apart(const std::function<Explored()> &explore);

}  // namespace copse::schedules
