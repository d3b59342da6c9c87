// What the first rank of a node finds out about the machine for all ranks of the node (docs/decisions/survey.md). It takes hwloc
// milliseconds to look at a machine, and far longer if all ranks of a large node look at the same time.
#pragma once

#include <cstdint>
#include <vector>

#include "choose/settings.hpp"
#include "communicator/census.hpp"
#include "topology/placement.hpp"

namespace copse::communicator {

struct NodeFacts {
  std::int32_t online = 0;  // processors that the node's ranks may use; 0: the first rank could not look at the machine
  std::uint64_t last_cache_bytes = 0;  // of the last cache on the way to memory; 0: not known
};

struct Survey {
  NodeFacts facts;
  std::vector<topology::Place> places;  // of the node's ranks, in their order
};
// Looks at the machine, for the ranks of this node. Throws topology::Error if hwloc cannot look, unless the settings describe a
// machine.
[[nodiscard]] Survey survey(const Census& census, const choose::Settings& settings);

}  // namespace copse::communicator
