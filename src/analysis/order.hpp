// Happens-before: vector clocks, and the conflict check of one piece of memory.
//
// A rank's clock ticks at every step. A signal carries a snapshot of its sender's clocks. A rank that awaits the signal joins
// the snapshot with its own clocks, unless it knows the signal already, and so learns all that the sender knew. An access
// (rank, clock) happened before what rank r does now exactly when r's clock for that rank has reached it (Fidge, Mattern).
//
// For each piece of memory, the last write and the reads since then are kept. Reads that happened before a newer read may be
// forgotten, since whatever is ordered after the newer one is ordered after them, too (as in FastTrack). They are forgotten
// whenever the list has doubled. So the list stays as short as the number of concurrent readers, and a read costs the same
// however many there are.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace copse::analysis {

struct Epoch {
  std::int32_t rank = -1;  // -1: never
  std::int32_t clock = 0;
  friend bool operator==(const Epoch&, const Epoch&) = default;
};

// A signal holds what its sender knew, itself included. Signals are also counted along chains, in which each signal is given
// by a rank that knew the one before. The depth of a signal is the length of the longest chain that it ends.
struct Signal {
  std::uint32_t snapshot = 0;  // number of the snapshot
  Epoch at;
};

class Clocks {
 public:
  explicit Clocks(int ranks) : ranks_(static_cast<std::size_t>(ranks)), now_(ranks_ * ranks_), depths_(ranks_) {}

  void tick(int rank) { ++row(rank)[rank]; }
  [[nodiscard]] Epoch now(int rank) const { return {rank, row(rank)[rank]}; }
  [[nodiscard]] bool knows(int rank, Epoch event) const { return event.rank < 0 || row(rank)[event.rank] >= event.clock; }
  // Tells whether somebody who has heard the signal, and nothing else, knows the event.
  [[nodiscard]] bool knows(const Signal& signal, Epoch event) const {
    return event.rank < 0 || arena_[signal.snapshot * (ranks_ + 1) + static_cast<std::size_t>(event.rank)] >= event.clock;
  }
  [[nodiscard]] Signal signal(int rank);
  // Says that nobody will join the signal any more.
  void release(const Signal& signal) { released_.push_back(signal.snapshot); }
  // Joins the signal. Returns whether the rank learnt anything new.
  bool join(int rank, const Signal& signal) {
    if (knows(rank, signal.at)) return false;  // and so knows all that it brings, including its depth
    learn(rank, signal);
    return true;
  }
  // Returns the depth of the longest chain of signals that a rank waited for.
  [[nodiscard]] std::int32_t depth() const { return *std::max_element(depths_.begin(), depths_.end()); }

 private:
  void learn(int rank, const Signal& signal);
  [[nodiscard]] std::int32_t* row(int rank) { return now_.data() + static_cast<std::size_t>(rank) * ranks_; }
  [[nodiscard]] const std::int32_t* row(int rank) const { return now_.data() + static_cast<std::size_t>(rank) * ranks_; }
  std::size_t ranks_;
  std::vector<std::int32_t> now_, arena_;  // a snapshot in the arena is a row, and the signal's depth
  std::vector<std::uint32_t> released_;
  std::vector<std::int32_t> depths_;
};

// The accesses to one piece of memory that later accesses may still conflict with.
struct Accesses {
  Epoch write;
  std::int32_t reads = -1;  // head of a list in AccessOrder
  std::uint16_t length = 0, limit = 4;  // of the list; when it is next shortened
};

class AccessOrder {
 public:
  explicit AccessOrder(const Clocks& clocks) : clocks_(clocks) {}

  // Each function records the access of `rank` now, and returns an earlier access that it conflicts with, if any.
  std::optional<Epoch> read(int rank, Accesses& accesses);
  std::optional<Epoch> write(int rank, Accesses& accesses);
  // Returns what write() would return, without recording anything.
  [[nodiscard]] std::optional<Epoch> conflict_of_write(int rank, const Accesses& accesses) const;
  // Returns the earlier access that a write conflicts with, if the write happens after both signals and knows nothing else. A
  // message between nodes is such a write: it comes when it has been sent and its receive has been posted.
  [[nodiscard]] std::optional<Epoch> conflict_of_write(const Signal& one, const Signal& other, const Accesses& accesses) const;
  void forget(Accesses& accesses);

 private:
  struct Read {
    Epoch epoch;
    std::int32_t next;
  };
  void shorten(int rank, Accesses& accesses);
  template <class Knows>
  [[nodiscard]] std::optional<Epoch> unknown_in(const Accesses& accesses, Knows&& knows) const;

  const Clocks& clocks_;
  std::vector<Read> reads_;
  std::int32_t free_ = -1;
};

}  // namespace copse::analysis
