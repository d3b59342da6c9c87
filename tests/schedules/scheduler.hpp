// A scheduler that controls every wait of the code under test. The threads of the program become actors of one thread.
// At every access to an atomic, and at every lock, yield, nap and wait, the scheduler decides which actor goes on. The
// code is unchanged: it is built for ThreadSanitizer, but linked with the entry points in runtime.cpp instead of
// ThreadSanitizer's.
//
// - Schedules are explored exhaustively up to a number of preemptions, or at random from a seed. The report of a fault
//   says how to run that schedule again: TEST_SCHEDULE=... for the same test.
// - Vector clocks track what actors know: a release passes on what its writer knows, and an acquire takes it over. Each
//   plain access to watched memory is checked. If it is not ordered after the last access of another actor, and one of
//   the two is a write, that is a race, whatever value it read.
// - In random schedules, a load may see a value older than the newest if C11 allows that. A waiting actor may look so
//   often before another actor does anything that it believes the other to be slow.
// - Time stands still, except for a tick when all actors wait. If all actors wait again and again for something that no
//   actor will do, they hang.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace copse::schedules {

// Sets up one execution: its actors, and the memory that is watched for races.
class Execution {
 public:
  void actor(std::function<void()> body) { actors.push_back(std::move(body)); }
  void watch(const void* begin, std::size_t bytes, const char* name) { watched.push_back({begin, bytes, name}); }
  // Takes the order from atomic stores, or from atomic loads, in this memory. For planted faults.
  void weaken(const void* begin, std::size_t bytes, bool stores) { weakened.push_back({begin, bytes, stores}); }
  // `check` runs after all actors have ended. It returns what is wrong, or an empty text.
  void afterwards(std::function<std::string()> check) { check_ = std::move(check); }

  struct Memory {
    const void* begin;
    std::size_t bytes;
    const char* name;
  };
  struct Weakened {
    const void* begin;
    std::size_t bytes;
    bool stores;
  };
  std::vector<std::function<void()>> actors;
  std::vector<Memory> watched;
  std::vector<Weakened> weakened;
  std::function<std::string()> check_ = [] { return std::string{}; };
};
// Makes a fresh world before each execution. What it makes must live as long as the bodies of the actors.
using Prepare = std::function<void(Execution&)>;

// An actor calls this to end the execution with a complaint. It does not return in an actor.
void complain(const std::string& what);

// From now on no atomic in this memory may be accessed, as if the memory were freed.
void let_go(const void* begin, std::size_t bytes);

struct Explored {
  std::uint64_t executions = 0, points = 0;  // points: where another actor might have gone on
  bool whole = false;                        // every schedule within the bound was explored
  std::optional<std::string> wrong;          // the fault, and how to run its schedule again
};

// Explores every schedule with at most `preemptions` unforced switches.
[[nodiscard]] Explored every_schedule(int preemptions, const Prepare& set_up, std::uint64_t most = UINT64_MAX);
// Explores `count` random schedules. In these, loads sometimes see older values.
[[nodiscard]] Explored random_schedules(std::uint64_t count, const Prepare& set_up, std::uint64_t seed = 1);

// Runs an exploration in a forked process, because an exploration that finds a fault leaves its actors where they are.
[[nodiscard]] Explored apart(const std::function<Explored()>& explore);

}  // namespace copse::schedules
