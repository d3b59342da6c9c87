// Ranks that meet in memory, under the scheduler.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "communicator/shared_bootstrap.hpp"
#include "scheduler.hpp"

namespace copse::schedules {

// Each rank takes part in several rounds, one of which spans several boards. Then it leaves. The last rank leaves
// `short_by` rounds earlier, and the others notice that.
class Gathering {
 public:
  Gathering(int ranks, int rounds, int short_by)
      : ranks_(ranks), rounds_(rounds), short_by_(short_by), boards_(communicator::board_bytes(ranks) / 64) {}

  void set_up(Execution& execution) {
    execution.watch(boards_.data(), boards_.size() * sizeof(Line), "the boards");
    for (int rank = 0; rank < ranks_; ++rank) execution.actor([this, rank] { run(rank); });
  }

 private:
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  void run(int rank) {
    const auto bootstrap = communicator::meet_in_memory(boards_.data(), rank, ranks_, communicator::Deadline::after(1000));
    const int rounds = rounds_ - (rank == ranks_ - 1 ? short_by_ : 0);
    for (int round = 0; round < rounds; ++round) {
      const std::size_t words = round == 1 ? 60 : 1;  // 480 bytes: two boards
      const auto value = [&](int of) { return 100 * round + of; };
      std::vector<std::uint64_t> mine(words, static_cast<std::uint64_t>(value(rank)));
      std::vector<std::uint64_t> all(words * static_cast<std::size_t>(ranks_));
      const bool gathered = bootstrap->allgather(mine.data(), all.data(), words * 8);
      if (gathered != (round < rounds_ - short_by_)) complain(gathered ? "a round without one" : "a round that all came to fails");
      for (std::size_t i = 0; gathered && i < all.size(); ++i)
        if (all[i] != static_cast<std::uint64_t>(value(static_cast<int>(i / words)))) complain("another round's bytes");
      if (!gathered) return;
    }
  }

  int ranks_, rounds_, short_by_;
  std::vector<Line> boards_;
};

inline Prepare gathering(int ranks, int rounds, int short_by = 0) {
  auto kept = std::make_shared<std::unique_ptr<Gathering>>();
  return [=](Execution& execution) {
    *kept = std::make_unique<Gathering>(ranks, rounds, short_by);
    (*kept)->set_up(execution);
  };
}

// Threads make communicators one after the other at one meeting. Threads that come for the n-th time meet each other.
class Comings {
 public:
  explicit Comings(int ranks) : meeting_(ranks) {}
  void set_up(Execution& execution) {
    for (int rank = 0; rank < meeting_.ranks(); ++rank) execution.actor([this, rank] { run(rank); });
  }

 private:
  void run(int rank) {
    for (int time = 0; time < 2; ++time) {
      const auto bootstrap = meeting_.come(rank, communicator::Deadline::after(1000));
      if (bootstrap == nullptr) complain("taken for two threads that mean to be one rank");
      const int mine = 10 * time + rank;
      std::vector<int> all(static_cast<std::size_t>(meeting_.ranks()));
      if (!bootstrap->allgather(&mine, all.data(), sizeof mine)) complain("a round that all came to fails");
      for (int other = 0; other < meeting_.ranks(); ++other)
        if (all[static_cast<std::size_t>(other)] != 10 * time + other) complain("met somebody else's n-th coming");
    }
  }

  communicator::Meeting meeting_;
};

inline Prepare comings(int ranks) {
  auto kept = std::make_shared<std::unique_ptr<Comings>>();
  return [=](Execution& execution) {
    *kept = std::make_unique<Comings>(ranks);
    (*kept)->set_up(execution);
  };
}

}  // namespace copse::schedules
