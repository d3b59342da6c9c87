// A group: what the ranks of a communicator have found out about one another and agreed on. It lies beneath every stream of
// calls among them.
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
  std::vector<std::shared_ptr<engine::Mapping>> heaps;  // which the peers lie in
};

// The memory that the ranks of this node share.
struct Ground {
  Card leader;          // of the first rank of this node,
  int leader_rank = 0;  // which is this one
  std::shared_ptr<engine::Mapping> memory;  // of the communicator's own stream,
  engine::Segment segment;                  // which lies there
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
  Lanes lanes;        // beside the ground
  EndedTraces ended;  // of lanes

  // Has the process of that rank ended, as far as this node can tell? Of which rank first; -1: of none.
  [[nodiscard]] bool has_ended(int other) const;
  [[nodiscard]] int first_ended() const;

  // For calls in memory of their own, over a wire of their own, numbered from `ticket` on: see Executor::begin_at.
  [[nodiscard]] std::unique_ptr<engine::Executor> executor_on(const engine::Segment &where, engine::Wire *over,
                                                              std::uint64_t ticket) const;
};

// A group, and what its own stream of calls runs on.
struct Founded {
  std::shared_ptr<Group> group;
  std::unique_ptr<engine::Executor> executor;
};
// Collective over the bootstrap's ranks; as Communicator::create. An empty one, with the reason, where they cannot be one.
[[nodiscard]] Founded found(std::unique_ptr<Bootstrap> bootstrap, std::unique_ptr<engine::Wire> wire,
                            const choose::Settings &settings, std::string &why_not, std::shared_ptr<Progress> progress);

}  // namespace copse::communicator
