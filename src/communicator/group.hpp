// A group is what the ranks of a communicator have found out about one another and agreed on. All streams of calls among them
// share it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "communicator/bootstrap.hpp"
#include "communicator/kin.hpp"
#include "communicator/lanes.hpp"
#include "communicator/progress.hpp"
#include "communicator/trace.hpp"
#include "engine/executor.hpp"

namespace copse::communicator {

struct Group {
  int rank = 0, ranks = 1;
  choose::Settings settings;
  std::shared_ptr<Progress> progress;
  std::unique_ptr<Bootstrap> bootstrap;
  std::unique_ptr<engine::Wire> wire;
  std::shared_ptr<Kin> kin;
  Plot plot;          // where the communicator's own stream runs
  // How the plot is left, once the communicator's own stream has ended well: the ticket of the next call there, and whether the
  // plot keeps its pages.
  struct Left {
    std::uint64_t next_ticket;
    bool warm;
  };
  std::optional<Left> left;
  Lanes lanes;        // streams beside the communicator's own
  EndedTraces ended;  // traces of lanes that are gone
  algorithms::Graph graph;  // of neighbours; empty if there is none

  Group() = default;
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;
  ~Group();

  // has_ended() tells whether the process of a rank has ended, as far as this node can tell. first_ended() returns the first
  // such rank, or -1 if there is none.
  [[nodiscard]] bool has_ended(int other) const;
  [[nodiscard]] int first_ended() const;
  [[nodiscard]] int callers() const { return ranks - settings.helpers; }
  [[nodiscard]] bool is_helper() const { return rank >= callers(); }

  // Tells whether all blocks of a call among neighbours are of one size, and all ranks know that. MPI wants the blocks of an
  // `alike` call to be as long as those of all other ranks. With two ranks they are not, because each may give more than it takes.
  // In a graph of several pieces they are not, because a rank without neighbours does not know the size.
  [[nodiscard]] bool have_one_size(bool alike) const { return alike && ranks > 2 && graph.connected(); }

  // Returns what lanes are made from.
  [[nodiscard]] LaneGround lane_ground() const;

  // Makes an executor for calls in memory of their own, over a wire of their own, numbered from `ticket` on (see
  // Executor::begin_at).
  [[nodiscard]] std::unique_ptr<engine::Executor> executor_on(const engine::Segment& where, engine::Wire* over,
                                                              std::uint64_t ticket) const;
};

}  // namespace copse::communicator
