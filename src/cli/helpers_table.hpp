// What dedicated collective processors cost and save on a machine, by the price.
#pragma once

#include <string>

#include "cli/pricing.hpp"

namespace copse::cli {

// Prints the latency of a call, what it costs a rank, and when helpers pay, by the number of ranks and by ranks for each helper
// (CDCP V.D and V.E).
void print_helpers(const PricedCall& call, const price::Parameters& machine, int ranks, bool json);

}  // namespace copse::cli
