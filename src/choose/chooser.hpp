// What would run: the algorithm for a call, how its message is cut, and which slots it takes. Pure functions: a communicator
// asks them, and so may anyone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>

#include "algorithms/registry.hpp"
#include "choose/rules.hpp"
#include "choose/settings.hpp"
#include "choose/situation.hpp"
#include "plan/rings.hpp"

namespace copse::choose {

struct Decision {
  const algorithms::Algorithm *algorithm = nullptr;
  plan::Carrier carrier = plan::Carrier::slot;
  int radix = 2;
  std::size_t fragment_bytes = 0;  // 0: one fragment, unless it must fit in a slot
  std::size_t ride_bytes = 0;      // values of up to so many bytes ride, where the algorithm lets them
  bool halves = false;             // two fragments from kHalvesFrom on (NUMACol 3, dynamic)
  algorithms::Footprint footprint;
  // Why: the rule of this size, and whether the user's word has replaced its algorithm.
  const Rule *rule = nullptr;
  bool forced = false;
  // The same is decided for all sizes of a message, or block, from `from` to `to`.
  std::size_t from = 0, to = std::numeric_limits<std::size_t>::max();
};
inline constexpr std::size_t kHalvesFrom = 8192;

// For a message, or blocks, of `bytes`.
[[nodiscard]] Decision choose(const Settings &settings, const Situation &situation, algorithms::Collective collective,
                              std::size_t bytes, Needs needs);

// Memory for values on their way, of a communicator of so many ranks.
[[nodiscard]] plan::Rings rings_for(bool oversubscribed, int ranks);
// A slot holds that much at most, on every communicator.
inline constexpr std::size_t kLargestSlot = 65536;

// What elements of that size, combined by an operator that commutes or does not (`strict`), ask of an algorithm.
[[nodiscard]] inline Needs needs_of(algorithms::Collective collective, int ranks, std::size_t element_bytes, bool strict) {
  return {strict, algorithms::traits_of(collective).reduces && element_bytes > kLargestSlot / static_cast<std::size_t>(ranks)};
}

// How a message is cut.
struct Cut {
  std::size_t fragment_count = 0;  // elements in a fragment; 0: all
  int slot_class = 0;
};
[[nodiscard]] Cut cut(const plan::SlotClasses &slots, const Decision &decision, std::size_t count, std::size_t element_bytes);

// All of it, for a call of `count` elements (of each block).
struct Resolution {
  Decision decision;
  Cut cut;
};
[[nodiscard]] Resolution resolve(const Settings &settings, const Situation &situation, algorithms::Collective collective,
                                 std::size_t count, std::size_t element_bytes, bool strict);

// What runs a call with sizes that not all ranks know without exchanging them first, if anything does.
[[nodiscard]] std::optional<Decision> without_sizes(const Settings &settings, const Situation &situation,
                                                    algorithms::Collective collective);

}  // namespace copse::choose
