// What would run: the algorithm for a call, and how its message is cut. These are pure functions, so they need no communicator.
#pragma once

#include <cstddef>
#include <optional>

#include "choose/cutting.hpp"
#include "choose/decision.hpp"
#include "choose/settings.hpp"
#include "choose/situation.hpp"

namespace copse::choose {

// Decides for a message, or blocks, of `bytes` bytes.
[[nodiscard]] Decision choose(const Settings& settings, const Situation& situation, algorithms::Collective collective,
                              std::size_t bytes, Needs needs);

// Tells whether the settings let some call use the MPI's own collectives among the leaders of the nodes.
[[nodiscard]] bool may_delegate(const Settings& settings);

// Returns what a call needs from an algorithm, by the size of its elements and whether its operator does not commute
// (`strict`), or cannot be applied by the MPI (`alien`). Helpers do not count among the ranks.
[[nodiscard]] inline Needs needs_of(algorithms::Collective collective, int ranks, std::size_t element_bytes, bool strict,
                                    bool alien = false) {
  const bool reduces = algorithms::traits_of(collective).reduces;
  return {strict, reduces && element_bytes > kLargestSlot / static_cast<std::size_t>(ranks), alien};
}

// Tells whether helpers can serve calls of so many callers. A helper's slot must hold an element of every block.
[[nodiscard]] inline bool can_be_served(algorithms::Collective collective, int callers, std::size_t element_bytes) {
  return !algorithms::traits_of(collective).has_blocks() || element_bytes <= kLargestSlot / static_cast<std::size_t>(callers);
}

// The whole answer for a call of `count` elements (of each block).
struct Resolution {
  Decision decision;
  Cut cut;
};
[[nodiscard]] Resolution resolve(const Settings& settings, const Situation& situation, algorithms::Collective collective,
                                 std::size_t count, std::size_t element_bytes, Needs needs);

// Returns the decision for a call with sizes that not all ranks know, if an algorithm can make the call without an exchange of the
// sizes. If it has an end (`to`), longer blocks may make the ranks call again, with sizes that all then know.
[[nodiscard]] std::optional<Decision> without_sizes(const Settings& settings, const Situation& situation,
                                                    algorithms::Collective collective);

}  // namespace copse::choose
