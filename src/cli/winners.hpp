// The winners: for each machine, collective and size, the way that costs least by the price. `copse price --plot` draws them.
#pragma once

#include <string>
#include <vector>

#include "cli/pricing.hpp"

namespace copse::cli {

struct WinnersQuery {
  std::vector<algorithms::Collective> collectives;
  std::vector<std::string> machines;  // recorded names or files
  int ranks = 0;                      // 0: one for each core, but no more than 32
  choose::Situation situation;        // how ranks reach each other's memory
  PricedCall call = {};               // but for its collective and size, which vary
};

// Prints a JSON list with one object for each machine and collective. Each has the winners for sizes from 8 bytes to 4 MiB, or the
// one of a collective that moves no data.
void print_winners(const WinnersQuery& query);

}  // namespace copse::cli
