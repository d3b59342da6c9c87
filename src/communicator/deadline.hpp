// A deadline is a moment by which something must have happened.
#pragma once

#include <chrono>

namespace copse::communicator {

class Deadline {
 public:
  static Deadline never() { return Deadline(); }
  // A time that no clock can hold counts as forever.
  static Deadline after(double seconds) {
    Deadline deadline;
    if (!(seconds < kLongest)) return deadline;
    deadline.end_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
    return deadline;
  }

  [[nodiscard]] bool passed() const { return end_ != Clock::time_point::max() && Clock::now() >= end_; }
  // Returns the time that is left, for poll(), but not more than an hour.
  [[nodiscard]] int milliseconds() const {
    constexpr std::chrono::milliseconds kMost = std::chrono::hours(1);
    const auto now = Clock::now();
    if (end_ <= now) return 0;
    if (end_ - now >= kMost) return static_cast<int>(kMost.count());
    return static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(end_ - now).count());
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr double kLongest = 1e9;  // seconds: thirty years
  Clock::time_point end_ = Clock::time_point::max();
};

}  // namespace copse::communicator
