// HMPI's closed equations, beside the price.
#pragma once

#include <cstddef>
#include <vector>

#include "cli/pricing.hpp"

namespace copse::cli {

// Prints what HMPI's equations 5, 6 and 7, and 11 give for an allreduce, and beside it the cheapest of `rows` with that shape.
// Prints nothing if the equations do not cover these ranks. They are for one node, and know two levels: the machine's innermost
// one, whose parts are the paper's sockets and have the same number of ranks each, and its outermost one.
void print_equations(const price::Parameters& machine, const topology::Placement& places, std::size_t bytes,
                     const std::vector<Priced>& rows);

}  // namespace copse::cli
