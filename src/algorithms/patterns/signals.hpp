// Signals without data.
#pragma once

#include "algorithms/registry.hpp"

namespace copse::algorithms {

// Signals without data: arrivals go up one tree, and the release comes down another with the same root. Uses areas 0 and 1.
void meet(plan::Builder& builder, const shape::Tree& up, const shape::Tree& down, int rank);

// Signals round the teams (Hensgen, Finkel and Manber 1988; HMPI 2.3). Afterwards every rank knows that at least one rank of
// each team has come here. In round i a team signals the radix - 1 teams that follow at multiples of radix^i. In each of
// them, a rank is heard by its images, which have the same position in their team. Uses areas from `area` on, one per round.
void disseminate(plan::Builder& builder, const Teams& teams, int rank, int radix, int area);
[[nodiscard]] int dissemination_rounds(std::size_t teams, int radix);

}  // namespace copse::algorithms
