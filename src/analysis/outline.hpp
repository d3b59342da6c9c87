// The outline of a call: how many steps all ranks take, how many one rank takes at most, and how long the longest chain of
// signals is. The walk that finds this costs no more than the steps themselves, so it can be done for very many ranks.
#pragma once

#include <cstdint>

#include "analysis/timetable.hpp"
#include "analysis/variants.hpp"

namespace copse::analysis {

struct Outline {
  std::uint64_t steps = 0;      // of all ranks
  std::uint64_t most_steps = 0;  // of one rank
  int chain = 0;                // signals on the longest chain that ranks wait for
};
// Returns the outline of one call of one fragment. The variant must have its plans. Throws std::logic_error if ranks wait
// forever.
[[nodiscard]] Outline outline_of(const Variant& variant);

// Returns a case with one call of one fragment.
[[nodiscard]] Case one_call(const Variant& variant);
// Throws std::logic_error, because `waiting` waits forever.
[[noreturn]] void refuse_stuck(const Variant& variant, const Moment& waiting);

template <class Reader>
void walk_one_call(const Variant& variant, Reader& reader) {
  const Case subject = one_call(variant);
  const Script script(subject);
  Walk walk(script, reader);
  if (!walk.run()) refuse_stuck(variant, walk.chain().front().moment);
}

}  // namespace copse::analysis
