// copse-native verify: the checker over rows and numbers of ranks, on all processors, and what it says of them.
#pragma once

#include <string>
#include <vector>

#include "analysis/cases.hpp"

namespace copse::cli {

struct Sweep {
  std::vector<const algorithms::Algorithm*> rows;
  std::vector<int> ranks;
  analysis::Effort effort = analysis::Effort::quick;
  const topology::Machine* machine = nullptr;  // all recorded ones, if null
  int threads = 0;                             // 0: as many as there are processors
  bool json = false;
};

// Prints a line for each row, failures, and what was covered; tells on stderr how far it is. The exit code.
int run(const Sweep& sweep);

}  // namespace copse::cli
