// copse-native verify --traffic: counts what algorithms do, in their plans.
#pragma once

#include <optional>
#include <vector>

#include "algorithms/registry.hpp"
#include "topology/machine.hpp"

namespace copse::cli {

struct Count {
  std::vector<const algorithms::Algorithm*> rows;
  const topology::Machine* machine = nullptr;
  int ranks = 0;  // 0: one for each core
  int nodes = 1, root = 0, radix = 2;
  std::optional<plan::Carrier> carrier;  // none: all
  bool json = false;
};

// Places the ranks in blocks. Returns the exit code.
int run(const Count& count);

}  // namespace copse::cli
