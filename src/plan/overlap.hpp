// Tells whether two operands of one rank may be the same memory.
#pragma once

#include "plan/plan.hpp"

namespace copse::plan {

// Tells whether a write to `target` could change `source`, or the reverse. Both are operands of one rank and one ticket. Input and
// output may be the same memory unless `apart`.
[[nodiscard]] inline bool overlap(const Operand& source, const Operand& target, bool apart = false) {
  const auto mine = [](Space space) { return space == Space::input || space == Space::output; };
  const bool one_buffer = !apart && mine(source.space) && mine(target.space);
  if (!one_buffer && !(source.space == target.space && source.area == target.area && source.rank == target.rank)) return false;
  const Range &x = source.range, &y = target.range;
  if (x.of != y.of) return true;
  // How far after the other each range begins. Ranges may wrap around, or be packed from some chunk on.
  const std::uint32_t here = x.first + x.of - source.origin, there = y.first + y.of - target.origin;
  return (there + x.of - here % x.of) % x.of < x.count || (here + x.of - there % x.of) % x.of < y.count;
}

}  // namespace copse::plan
