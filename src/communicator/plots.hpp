// The parts of a node's common memory in which communicators of the same ranks run their own streams of calls.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "communicator/bootstrap.hpp"
#include "communicator/card.hpp"
#include "engine/reach/shared_memory.hpp"
#include "engine/segment.hpp"

namespace copse::communicator {

// The rank that makes the memory that the ranks of this node share.
struct Ground {
  Card leader;  // card of the first rank of this node
  int leader_rank = 0;  // number of that rank
};

// The part of the common memory in which one communicator's own stream of calls runs.
struct Plot {
  int number = 0;
  std::shared_ptr<engine::Mapping> memory;
  engine::Segment segment;
};

// The plots of this rank, free or not. Any thread may use them.
class Plots {
 public:
  static constexpr std::size_t kMost = 256;
  using Set = std::array<std::uint64_t, kMost / 64>;

  // Begins with plot 0, which is all of `memory` and is taken.
  void begin(std::shared_ptr<engine::Mapping> memory, const engine::Geometry& geometry, std::uint64_t first_ticket);
  // Returns the plots that are free. Sets `ticket` to a ticket beyond all tickets that were used in them.
  [[nodiscard]] Set free_ones(std::uint64_t& ticket) const;
  // Tells whether a communicator that ends should leave its pages to the next one. Otherwise there are enough free plots that keep
  // their pages already.
  [[nodiscard]] bool keeps_pages() const;
  [[nodiscard]] Plot take(int number);
  // Gives a plot back. `ticket` is that of the call that would come next there. `warm` says that the plot has kept its pages.
  void give_back(int number, std::uint64_t ticket, bool warm);
  // Adds plots to the last one, if the ranks can get memory for them. Collective over the ranks of `bootstrap`, which hold
  // their kin. Returns the number of the first new plot, or -1 on all ranks.
  [[nodiscard]] int grow(Bootstrap& bootstrap, const Ground& ground, int ranks_here);

 private:
  static constexpr std::size_t kWarm = 1;  // free plots that keep their pages

  struct Entry {
    std::shared_ptr<engine::Mapping> memory;
    std::size_t place = 0;  // where the plot's segment begins in the memory, in bytes
    bool free = false;
    bool warm = false;  // it is free and has pages; a new plot has none
  };
  mutable std::mutex mutex_;
  engine::Geometry geometry_;
  std::vector<Entry> entries_;
  std::uint64_t ticket_ = 0;
  bool grows_ = true;  // false once the ranks could get no more memory
};

}  // namespace copse::communicator
