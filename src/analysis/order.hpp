// Happens-before: vector clocks, and the conflict check of one piece of memory.
//
// A rank's clock ticks at every step. A signal carries a snapshot of its sender's clocks; who awaits it joins the
// snapshot, unless it knows the signal already, and with it all that its sender knew. An access (rank, clock) happened
// before what rank r does now exactly when r's clock for that rank has reached it (Fidge, Mattern). Per piece of memory
// the last write and the reads since are kept; reads that happened before a newer read may be forgotten, since whatever
// is ordered after the newer one is ordered after them too (as FastTrack does). They are, whenever the list has
// doubled: so it stays as short as the number of concurrent readers, and a read costs the same however many there are.
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

// A signal: what its sender knew, itself included. Signals that a rank gives are also counted along chains: the depth
// of one is that of the longest chain of signals, each given by a rank that knew the one before, which it ends.
struct Signal {
  std::uint32_t snapshot = 0;  // its number
  Epoch at;
};

class Clocks {
 public:
  explicit Clocks(int ranks)
      : ranks_(static_cast<std::size_t>(ranks)), now_(ranks_ * ranks_), depths_(ranks_) {}

  void tick(int rank) { ++row(rank)[rank]; }
  [[nodiscard]] Epoch now(int rank) const { return {rank, row(rank)[rank]}; }
  [[nodiscard]] bool knows(int rank, Epoch event) const {
    return event.rank < 0 || row(rank)[event.rank] >= event.clock;
  }
  [[nodiscard]] Signal signal(int rank);
  // Nobody will join it any more.
  void release(const Signal& signal) { released_.push_back(signal.snapshot); }
  // Says whether rank learnt anything that it did not know.
  bool join(int rank, const Signal& signal) {
    if (knows(rank, signal.at)) return false;  // and whatever it brings, its depth included
    learn(rank, signal);
    return true;
  }
  // Of the longest chain of signals that a rank waited for.
  [[nodiscard]] std::int32_t depth() const { return *std::max_element(depths_.begin(), depths_.end()); }

 private:
  void learn(int rank, const Signal& signal);
  [[nodiscard]] std::int32_t* row(int rank) { return now_.data() + static_cast<std::size_t>(rank) * ranks_; }
  [[nodiscard]] const std::int32_t* row(int rank) const {
    return now_.data() + static_cast<std::size_t>(rank) * ranks_;
  }
  std::size_t ranks_;
  std::vector<std::int32_t> now_, arena_;  // a snapshot in the arena is a row, and the signal's depth
  std::vector<std::uint32_t> released_;
  std::vector<std::int32_t> depths_;
};

// The accesses to one piece of memory that later accesses may still conflict with.
struct Accesses {
  Epoch write;
  std::int32_t reads = -1;  // head of a list in AccessOrder
  std::uint16_t length = 0, limit = 4;  // of the list; where it is next gone through
};

class AccessOrder {
 public:
  explicit AccessOrder(const Clocks& clocks) : clocks_(clocks) {}

  // Each records the access of `rank` now and returns an earlier access that it conflicts with, if any.
  std::optional<Epoch> read(int rank, Accesses& accesses);
  std::optional<Epoch> write(int rank, Accesses& accesses);
  // What write() would return, without recording.
  [[nodiscard]] std::optional<Epoch> conflict_of_write(int rank, const Accesses& accesses) const;
  void forget(Accesses& accesses);

 private:
  struct Read {
    Epoch epoch;
    std::int32_t next;
  };
  void shorten(int rank, Accesses& accesses);

  const Clocks& clocks_;
  std::vector<Read> reads_;
  std::int32_t free_ = -1;
};

}  // namespace copse::analysis
