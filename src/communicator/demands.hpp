// What an operator asks of those who apply it.
#pragma once

#include "engine/combine.hpp"

namespace copse::communicator {

// A set of these: kStrict if it does not commute, kInexact if the bits of the result depend on the order, kAlien if the MPI cannot
// apply it for Copse.
inline constexpr unsigned kStrict = 1, kInexact = 2, kAlien = 4;
[[nodiscard]] inline unsigned demands_of(const engine::Combine* combine) {
  if (combine == nullptr) return 0;
  return (combine->commutative ? 0 : kStrict) | (combine->exact ? 0 : kInexact) | (combine->delegable ? 0 : kAlien);
}

}  // namespace copse::communicator
