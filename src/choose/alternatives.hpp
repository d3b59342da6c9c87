// What else could run: for those who price, measure or learn.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "choose/decision.hpp"
#include "choose/settings.hpp"
#include "choose/situation.hpp"

namespace copse::choose {

// Returns everything that could run messages, or blocks, of `bytes` bytes. That is every algorithm by each of its carriers, with
// each of the radices and each of the fragment sizes. Fragment size 0 means that the message is not cut, unless a fragment must
// fit in a slot. Fragment sizes that would cut this message in the same way are there once. An algorithm that ignores the radix is
// there once for each radix.
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

// Returns a row for a tuning table that makes this decision for ranks in this situation.
[[nodiscard]] Rule rule_for(const Decision& decision, const Situation& situation);

}  // namespace copse::choose
