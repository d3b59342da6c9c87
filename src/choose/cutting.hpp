// How a message is cut, and which slots take its fragments.
#pragma once

#include <cstddef>

#include "choose/decision.hpp"
#include "plan/rings.hpp"

namespace copse::choose {

// Returns the memory for values in transit of a communicator of so many ranks.
[[nodiscard]] plan::Rings rings_for(bool oversubscribed, int ranks);
// The largest size of a slot, on every communicator.
inline constexpr std::size_t kLargestSlot = 65536;

inline constexpr std::size_t kHalvesAbove = 8192;  // bytes

// How a message is cut.
struct Cut {
  std::size_t fragment_count = 0;  // elements in a fragment; 0: all
  int slot_class = 0;
};
[[nodiscard]] Cut cut(const plan::SlotClasses& slots, const Decision& decision, std::size_t count, std::size_t element_bytes);

// Returns the size up to which the blocks of a call ride for certain, if only their givers know the sizes.
[[nodiscard]] std::size_t longest_of_all(const Decision& decision);

}  // namespace copse::choose
