// A group is what the ranks of a communicator have found out about one another and agreed on. All streams of calls among them
// share it.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "choose/chooser.hpp"
#include "communicator/bootstrap.hpp"
#include "communicator/card.hpp"
#include "communicator/communicator.hpp"
#include "communicator/lanes.hpp"
#include "communicator/progress.hpp"
#include "communicator/trace.hpp"
#include "engine/executor.hpp"
#include "engine/reach/peer.hpp"
#include "engine/reach/shared_memory.hpp"
#include "topology/layout.hpp"

namespace copse::communicator {

// How executors wait and store.
struct Tuning {
  engine::WaitPolicy wait;
  bool heap_only = false;              // see Executor::publish_from_heap_only
  std::size_t stream_from = SIZE_MAX;  // bytes
  engine::SlotStores slots;
};

// What calls go by.
struct Terms {
  Capabilities capabilities;
  choose::Situation situation;
  topology::Placement places;
  Tuning tuning;
};

// How this rank reaches the others.
struct Reached {
  std::vector<pid_t> pids;
  std::vector<engine::Peer> peers;
  std::vector<std::shared_ptr<engine::Mapping>> heaps;  // the shared heaps in which `peers` locates buffers
};

// The memory that the ranks of this node share.
struct Ground {
  Card leader;          // card of the first rank of this node
  int leader_rank = 0;  // number of that rank
  std::shared_ptr<engine::Mapping> memory;  // memory of the communicator's own stream
  engine::Segment segment;                  // segment of that stream, in `memory`
};

struct Group {
  int rank = 0, ranks = 1;
  choose::Settings settings;
  std::shared_ptr<Progress> progress;
  std::unique_ptr<Bootstrap> bootstrap;
  std::unique_ptr<engine::Wire> wire;
  Terms terms;
  Reached reached;
  Ground ground;
  Lanes lanes;        // streams beside the communicator's own
  EndedTraces ended;  // traces of lanes that are gone

  // has_ended() tells whether the process of a rank has ended, as far as this node can tell. first_ended() returns the first
  // such rank, or -1 if there is none.
  [[nodiscard]] bool has_ended(int other) const;
  [[nodiscard]] int first_ended() const;
  [[nodiscard]] int callers() const { return ranks - settings.helpers; }
  [[nodiscard]] bool is_helper() const { return rank >= callers(); }

  // Makes an executor for calls in memory of their own, over a wire of their own, numbered from `ticket` on (see
  // Executor::begin_at).
  [[nodiscard]] std::unique_ptr<engine::Executor> executor_on(const engine::Segment& where, engine::Wire* over,
                                                              std::uint64_t ticket) const;
};

// A group, and what its own stream of calls runs on.
struct Founded {
  std::shared_ptr<Group> group;
  std::unique_ptr<engine::Executor> executor;
  std::map<std::string, Tally> start;  // what the parts of it took on this rank
};
// Founds a group of the bootstrap's ranks. This is collective, as Communicator::create() is. If they cannot be a group, the
// result is empty, and `why_not` is the reason.
[[nodiscard]] Founded found(std::unique_ptr<Bootstrap> bootstrap, std::unique_ptr<engine::Wire> wire,
                            const choose::Settings& settings, std::string& why_not, std::shared_ptr<Progress> progress);

}  // namespace copse::communicator
