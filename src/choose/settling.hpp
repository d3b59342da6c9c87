// The parts of a decision: the rule, the carrier that can run a size, and the sizes for which the answer is the same.
#pragma once

#include <cstddef>

#include "choose/decision.hpp"
#include "choose/settings.hpp"
#include "choose/situation.hpp"

namespace copse::choose {

// Tells whether `bytes` lies within the bounds. Narrows the sizes to which the decision applies to the sizes with the same answer.
[[nodiscard]] bool narrows(Decision& decision, const Bounds& bounds, std::size_t bytes);
// Returns the sizes of a block for which the rule holds. If ranks pack blocks of one size for others, these must fit in a slot
// together, as many as a rank packs by the situation's graph: otherwise they are no longer one message.
[[nodiscard]] Bounds bounds_of(const Rule& rule, const Situation& situation);
// Makes the decision that the rule states.
void follow(Decision& decision, const Rule& rule, const Situation& situation);
// Returns the decision of the first built-in rule that applies. `decision` holds the sizes for which no earlier rule applies.
[[nodiscard]] Decision by_rule(const Situation& situation, algorithms::Collective collective, std::size_t bytes, Needs needs,
                               Decision decision = {});
// Returns what the decision asks the algorithm for.
[[nodiscard]] algorithms::Request request_for(const Situation& situation, const Decision& decision);
// Returns the memory that the decision needs.
[[nodiscard]] algorithms::Footprint footprint_of(const Situation& situation, const Decision& decision);
// Returns the size up to which values ride. A value rides if rules.def would send its blocks through lines or slots. A value that
// does not fit in a slot cannot ride. It must go by the kernel, even if that costs more. Blocks that are packed ride together. An
// algorithm that uses only slots cannot move a value that does not ride. If there is such a value, another algorithm makes the call
// anew.
[[nodiscard]] std::size_t longest_ride(const Situation& situation, const Decision& decision);
// Tells whether the decision's algorithm can run `bytes` by the decision's carrier. Sets the footprint, and the size up to which
// values ride. Narrows the decision to the sizes with the same answer.
[[nodiscard]] bool settle(Decision& decision, const Situation& situation, std::size_t bytes, Needs needs);
// Settles the carrier for `bytes`: the carrier that is wanted, or otherwise another carrier that the algorithm has. Returns false
// if no carrier can run `bytes`.
[[nodiscard]] bool settle_carrier(Decision& decision, const Situation& situation, std::size_t bytes, Needs needs);
// Sets the size of the fragments that the user wants.
void fragment(Decision& decision, const Fragmentation& by_user);

}  // namespace copse::choose
