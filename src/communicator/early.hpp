// A communicator's calls before Copse serves it. Serving it has a cost at the start: the ranks meet, share memory and try
// what works. The MPI makes the calls until they have cost so much that the start pays (docs/decisions/late.md).
//
// All ranks decide alike. They count the same calls, and at some of them, the looks, they compare what each has measured.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <mutex>

namespace copse::communicator {

class Early {
 public:
  // What a rank tells the others at a look, and the least of what they tell, word by word.
  using Words = std::array<long long, 2>;

  [[nodiscard]] bool counts() const { return counts_; }
  // Begins to count. The first look is before call `first`.
  void begin(std::uint64_t first) {
    counts_ = true;
    look_at_ = first;
  }
  // The communicator is served from now on, or never will be.
  void end() { counts_ = false; }

  // Counts a blocking or persistent call, before it is made. Every rank counts each of them, whatever becomes of it.
  void count() { ++calls_; }
  [[nodiscard]] std::uint64_t calls() const { return calls_; }
  [[nodiscard]] bool must_look() const { return calls_ >= look_at_; }

  // Tells whether to time the call that was counted last. The first calls are not timed, because the MPI sets itself up in
  // them. Only some of the later calls are timed.
  [[nodiscard]] bool is_timed() const {
    const std::uint64_t block = calls_ <= kFirstLook ? kEighth : kRarely;
    return counts_ && calls_ > kWarm && calls_ % block == calls_ / block * kStride % block;
  }
  void add(double seconds) {
    ++timed_;
    seconds_ += seconds;
    longest_ = std::max(longest_, seconds);
  }

  // What this rank tells the others. `start` is what it expects Copse's start to take, in seconds.
  [[nodiscard]] Words words(double start) const;
  // Says whether the start pays, and sets the next look. `least` is the same on all ranks.
  bool pays(const Words& least);

  static constexpr std::uint64_t kFirstLook = 64;

 private:
  static constexpr std::uint64_t kWarm = 8, kEighth = 8, kRarely = 32, kMany = 1000;
  // In each block of calls, one is timed. Programs repeat their calls, so the place in the block moves on by a stride, which visits
  // every place of a block before it repeats one.
  static constexpr std::uint64_t kStride = 13;

  bool counts_ = false;
  std::uint64_t calls_ = 0, look_at_ = 0, timed_ = 0;
  double seconds_ = 0, longest_ = 0;  // of all timed calls together, and of the longest one
};

// What the start of one more communicator is expected to take on this rank, in seconds. It is learned from the starts of
// this process. Any thread may use it.
class StartCost {
 public:
  // `among` says that the communicator would be made among kin. `crowding`, the number of ranks for each processor (1 or more),
  // matters only for the first communicator.
  [[nodiscard]] double expected(double crowding, bool among = false) const;
  void add(double seconds, bool among = false);

 private:
  mutable std::mutex mutex_;
  double mean_ = 0, mean_among_ = 0;  // 0: there was no such start yet
};

}  // namespace copse::communicator
