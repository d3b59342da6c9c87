// Happens-before: vector clocks, and the conflict check of one piece of memory.
//
// A rank's clock ticks at every step. A signal carries a snapshot of its sender's clocks; who awaits it joins
// the snapshot. An access (rank, clock) happened before what rank r does now exactly when r's clock for that
// rank has reached it (Fidge, Mattern). Per piece of memory the last write and the reads since are kept; reads
// that happened before a newer read are forgotten, since whatever is ordered after the newer one is ordered
// after them too (as FastTrack does), so that the list stays as short as the number of concurrent readers.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace copse::analysis {

struct Epoch {
  std::int32_t rank = -1;  // -1: never
  std::uint32_t clock = 0;
  friend bool operator==(const Epoch&, const Epoch&) = default;
};

class Clocks {
 public:
  using Snapshot = std::uint32_t;  // where it starts in the arena

  explicit Clocks(int ranks)
      : ranks_(static_cast<std::uint32_t>(ranks)), now_(static_cast<std::size_t>(ranks_) * ranks_) {}

  void tick(int rank) { ++row(rank)[rank]; }
  [[nodiscard]] Epoch now(int rank) const { return {rank, row(rank)[rank]}; }
  [[nodiscard]] bool knows(int rank, Epoch event) const {
    return event.rank < 0 || row(rank)[event.rank] >= event.clock;
  }
  [[nodiscard]] Snapshot snapshot(int rank);
  // Says whether rank learnt anything that it did not know.
  bool join(int rank, Snapshot snapshot);

 private:
  [[nodiscard]] std::uint32_t* row(int rank) { return now_.data() + static_cast<std::size_t>(rank) * ranks_; }
  [[nodiscard]] const std::uint32_t* row(int rank) const {
    return now_.data() + static_cast<std::size_t>(rank) * ranks_;
  }
  std::uint32_t ranks_;
  std::vector<std::uint32_t> now_, arena_;
};

// The accesses to one piece of memory that later accesses may still conflict with.
struct Accesses {
  Epoch write;
  std::int32_t reads = -1;  // head of a list in AccessOrder
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
  const Clocks& clocks_;
  std::vector<Read> reads_;
  std::int32_t free_ = -1;
};

}  // namespace copse::analysis
