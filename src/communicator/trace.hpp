// Counts what ran, by which algorithm and how often. This answers the question "which algorithm did my call use?".
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <new>
#include <string>
#include <tuple>
#include <vector>

namespace copse::communicator {

struct Tally {
  std::uint64_t calls = 0;
  std::uint64_t bytes = 0;
  double seconds = 0;

  void add(std::uint64_t more_bytes, double more_seconds) {
    ++calls;
    bytes += more_bytes;
    seconds += more_seconds;
  }
  Tally& operator+=(const Tally& other) {
    calls += other.calls;
    bytes += other.bytes;
    seconds += other.seconds;
    return *this;
  }
};

// The trace of one rank. A key is a collective and, for calls that ran, "algorithm carrier". For calls that were passed on, it
// is the collective and the reason.
struct Trace {
  std::map<std::pair<std::string, std::string>, Tally> ran, passed_on;
  std::map<std::string, Tally> start;  // the parts of the start, of the program and of its communicators
  std::vector<std::string> learned;  // what was tried and found, a line each; of communicators in which this rank is rank 0

  void merge(const Trace& other) {
    for (const auto& [key, tally] : other.ran) ran[key] += tally;
    for (const auto& [key, tally] : other.passed_on) passed_on[key] += tally;
    for (const auto& [part, tally] : other.start) start[part] += tally;
    learned.insert(learned.end(), other.learned.begin(), other.learned.end());
  }
};

// Takes the time of the parts of a start, one after the other. It never throws, because a rank that left a start in the middle
// would leave the others waiting. If there is no memory, the trace lacks the part.
class StartClock {
 public:
  explicit StartClock(std::map<std::string, Tally>& parts) : parts_(parts) {}
  void end(const char* part) noexcept {
    const auto now = Clock::now();
    try {
      parts_[part].add(0, std::chrono::duration<double>(now - last_).count());
    } catch (const std::bad_alloc&) {
    }
    last_ = now;
  }

 private:
  using Clock = std::chrono::steady_clock;
  std::map<std::string, Tally>& parts_;
  Clock::time_point last_ = Clock::now();
};

// The sum of traces to which no call is added any more. Any thread may use it.
class EndedTraces {
 public:
  void add(const Trace& trace) {
    const std::lock_guard lock(mutex_);
    sum_.merge(trace);
  }
  void add_to(Trace& trace) const {
    const std::lock_guard lock(mutex_);
    trace.merge(sum_);
  }

 private:
  mutable std::mutex mutex_;
  Trace sum_;
};

}  // namespace copse::communicator
