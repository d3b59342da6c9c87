// What is decided for a call.
#pragma once

#include <cstddef>
#include <limits>

#include "algorithms/registry.hpp"
#include "choose/rule.hpp"

namespace copse::choose {

// Many fields: the answer to one question, with its reasons.
struct Decision {
  const algorithms::Algorithm* algorithm = nullptr;
  plan::Carrier carrier = plan::Carrier::slot;
  int radix = 2;
  std::size_t fragment_bytes = 0;  // 0: one fragment, unless it must fit in a slot
  std::size_t ride_bytes = 0;      // values of up to so many bytes ride, if the algorithm allows it
  bool halves = false;             // two fragments above kHalvesAbove (NUMACol 3, dynamic)
  bool outside = false;            // blocking calls go to the MPI's own collective; the rest runs as said here
  algorithms::Footprint footprint;
  // The reasons: the rule for this size, and whether the user's choice has replaced its algorithm.
  const Rule* rule = nullptr;
  bool forced = false;
  // The decision is the same for all sizes of a message, or of a block, from `from` to `to`.
  std::size_t from = 0, to = std::numeric_limits<std::size_t>::max();
};
}  // namespace copse::choose
