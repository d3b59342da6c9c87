// What would run: the algorithm for a call, how its message is cut, and which slots it takes. These are pure functions,
// so they need no communicator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "algorithms/registry.hpp"
#include "choose/rules.hpp"
#include "choose/settings.hpp"
#include "choose/situation.hpp"
#include "plan/rings.hpp"

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
inline constexpr std::size_t kHalvesAbove = 8192;  // bytes

// Decides for a message, or blocks, of `bytes` bytes.
[[nodiscard]] Decision choose(const Settings& settings, const Situation& situation, algorithms::Collective collective,
                              std::size_t bytes, Needs needs);

// Returns everything that could run messages, or blocks, of `bytes` bytes. That is every algorithm by each of its carriers, with
// each of the radices and each of the fragment sizes. Fragment size 0 means that the message is not cut, unless a fragment must
// fit in a slot. Fragment sizes that would cut this message in the same way are there once. An algorithm that has no use for the
// radix is there once for each radix.
[[nodiscard]] std::vector<Decision> candidates(const Situation& situation, algorithms::Collective collective, std::size_t bytes,
                                               Needs needs, std::span<const int> radices, std::span<const std::size_t> fragments);

// The size classes for which Copse learns separately what is fastest. Class 0 holds what fits in a line, each of the others goes up
// to four times the size of the one before it, and the last one has no end.
inline constexpr int kSizeClasses = 10;
[[nodiscard]] Bounds size_class_of(std::size_t bytes);

// Returns the decisions for all sizes, from 0 on, each within one size class. All ranks know the same list.
[[nodiscard]] std::vector<Decision> by_size_class(const Settings& settings, const Situation& situation,
                                                  algorithms::Collective collective, Needs needs);

// Returns `chosen`, and then the ways that may be tried instead: what the rules would choose for other sizes or situations, and
// the algorithm of `chosen` by other carriers. Where the MPI can be asked and ranks do not take turns, the MPI's own
// collective is another way. Each way can run all sizes of `chosen`, and cuts messages as the user wants. `same_bits` leaves out
// ways that could combine numbers in another order. If the user or a table has chosen, `chosen` is the only way.
[[nodiscard]] std::vector<Decision> ways(const Settings& settings, const Situation& situation, const Decision& chosen, Needs needs,
                                         bool same_bits);

// Tells whether the settings let some call use the MPI's own collectives among the leaders of the nodes.
[[nodiscard]] bool may_delegate(const Settings& settings);

// Returns a row for a tuning table that makes this decision for ranks in this situation.
[[nodiscard]] Rule rule_for(const Decision& decision, const Situation& situation);

// Returns the memory for values in transit of a communicator of so many ranks.
[[nodiscard]] plan::Rings rings_for(bool oversubscribed, int ranks);
// The largest size of a slot, on every communicator.
inline constexpr std::size_t kLargestSlot = 65536;

// Returns what a call needs from an algorithm, by the size of its elements and whether its operator does not commute
// (`strict`), or cannot be applied by the MPI (`alien`).
[[nodiscard]] inline Needs needs_of(algorithms::Collective collective, int ranks, std::size_t element_bytes, bool strict,
                                    bool alien = false) {
  const bool reduces = algorithms::traits_of(collective).reduces;
  return {strict, reduces && element_bytes > kLargestSlot / static_cast<std::size_t>(ranks), alien};
}

// How a message is cut.
struct Cut {
  std::size_t fragment_count = 0;  // elements in a fragment; 0: all
  int slot_class = 0;
};
[[nodiscard]] Cut cut(const plan::SlotClasses& slots, const Decision& decision, std::size_t count, std::size_t element_bytes);

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
// Returns the size up to which the blocks of such a call ride for certain.
[[nodiscard]] std::size_t longest_of_all(const Decision& decision);

}  // namespace copse::choose
