// Counts what ran, by which algorithm and how often. This answers the question "which algorithm did my call use?".
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
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
  Tally &operator+=(const Tally &other) {
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
  std::vector<std::string> learned;  // which other ways were found to be faster, a line each; the same on all ranks

  void merge(const Trace &other) {
    for (const auto &[key, tally] : other.ran) ran[key] += tally;
    for (const auto &[key, tally] : other.passed_on) passed_on[key] += tally;
    learned.insert(learned.end(), other.learned.begin(), other.learned.end());
  }
};

// The sum of traces to which no call is added any more. Any thread may use it.
class EndedTraces {
 public:
  void add(const Trace &trace) {
    const std::lock_guard lock(mutex_);
    sum_.merge(trace);
  }
  void add_to(Trace &trace) const {
    const std::lock_guard lock(mutex_);
    trace.merge(sum_);
  }

 private:
  mutable std::mutex mutex_;
  Trace sum_;
};

}  // namespace copse::communicator
